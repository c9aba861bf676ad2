import type { Fixture } from './gateway.ts'

/** Plain HTTP to the owner's API, to see exactly what is on the wire. */

export interface RestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

interface RestOptions {
  readonly token?: string
  readonly cookie?: string
  readonly csrf?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export const call = async (
  f: Fixture,
  method: string,
  path: string,
  { token, cookie, csrf, body, headers = {} }: RestOptions = {},
): Promise<RestAnswer> => {
  const response = await fetch(`${f.gateway.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(csrf === undefined ? {} : { 'x-csrf-token': csrf }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const parsed = /^[{[]/.test(text) ? JSON.parse(text) : { text }
  return { status: response.status, headers: response.headers, body: parsed }
}
