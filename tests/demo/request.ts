/** One request and what came back, as text and as JSON. */

export interface Answer {
  readonly status: number
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

const TIMEOUT_MS = 30_000

const parse = (text: string): Answer['body'] => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const request = async (
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  return { status: response.status, text, body: parse(text) }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
