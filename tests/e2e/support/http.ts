/** Requests as a stranger to this code base would make them, and what came back. */

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON, or undefined where it is none. */
  readonly body: unknown
}

interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

/** Far above any answer that is not hung. */
const TIMEOUT_MS = 60_000

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const send = async (
  url: string,
  { method = 'GET', headers = {}, body }: RequestOptions = {},
): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body: body as string }), // bytes too, which the type leaves out
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parse(text) }
}

/** A refusal without what differs between any two: the id of the request. */
export const withoutRequestId = (body: unknown): unknown => {
  if (typeof body !== 'object' || body === null) return body
  const { request_id, ...rest } = body as Record<string, unknown> // checked just before
  return rest
}
