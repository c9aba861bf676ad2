import type { Msg } from 'nats'
import type { Bus } from './connect.ts'
import { busUnavailable } from './errors.ts'

interface StoredMessage {
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly sequence: number
}

const GET_TIMEOUT_MS = 4_000
const NOT_FOUND = 404

/**
 * The newest message of one subject, or undefined (NATS ADR-31). In a cluster any replica may
 * answer, so what is read can be a moment old: a decision stands only once its CAS succeeded.
 */
export const lastOfSubject = async (
  bus: Bus,
  stream: string,
  subject: string,
): Promise<StoredMessage | undefined> => {
  let message: Msg
  try {
    message = await bus.nc.request(`$JS.API.DIRECT.GET.${stream}.${subject}`, '', {
      timeout: GET_TIMEOUT_MS,
    })
  } catch (error) {
    throw busUnavailable(error)
  }
  const code = message.headers?.code ?? 0
  if (code === NOT_FOUND) return undefined
  if (code >= 300) {
    throw busUnavailable(new Error(`direct get: ${code} ${message.headers?.description ?? ''}`))
  }
  const headers: Record<string, string> = {}
  for (const [name, values] of message.headers ?? []) headers[name] = values[0] ?? ''
  return { data: message.data, headers, sequence: Number(headers['Nats-Sequence']) }
}
