import type { IncomingHttpHeaders } from 'node:http'
import type { RequestHeaders } from '../sources/source.ts'

/** One value per name; Node has joined or dropped repeats already, except for set-cookie. */
export const requestHeaders = (headers: IncomingHttpHeaders): RequestHeaders => {
  const flat: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
