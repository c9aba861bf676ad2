import { Agent, request } from 'node:http'
import { z } from 'zod'
import type { Outcome } from './history.ts'

/**
 * Requests whose every end is told apart: answered, certainly not sent, or nobody knows. A library
 * with retries or a pool of its own would hide just that.
 */

interface Request {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeout_ms: number
}

export type Sent =
  | { readonly status: number; readonly text: string }
  | { readonly status: undefined; readonly reason: string; readonly refused: boolean }

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : error.message

export interface Http {
  send(message: Request): Promise<Sent>
  close(): void
}

export const openHttp = (): Http => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const send = ({ url, method, headers, body, timeout_ms }: Request): Promise<Sent> =>
    new Promise((resolve) => {
      const lost = (error: Error): void => {
        clearTimeout(timer)
        const reason = codeOf(error)
        resolve({ status: undefined, reason, refused: reason === 'ECONNREFUSED' })
      }
      const sending = request(url, { method, headers, agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', lost)
        response.on('end', () => {
          clearTimeout(timer)
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, text })
        })
      })
      sending.on('error', lost)
      const timer = setTimeout(() => sending.destroy(new Error('timeout')), timeout_ms)
      sending.end(body)
    })
  return { send, close: () => agent.destroy() }
}

/** `message` for agents and owners, `error` for providers. */
const ErrorAnswer = z.object({
  code: z.string(),
  message: z.string().optional(),
  error: z.string().optional(),
})

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const errorOutcome = (body: unknown): Outcome | undefined => {
  const { data } = ErrorAnswer.safeParse(body)
  return data && { kind: 'error', code: data.code, message: data.message ?? data.error ?? '' }
}

/** The outcome of a request of which one status means success, and other answers an error body. */
export const toOutcome = (sent: Sent, success: number): Outcome => {
  if (sent.status === undefined) {
    return sent.refused
      ? { kind: 'error', code: 'unreachable', message: 'nothing listens there' }
      : { kind: 'unknown', reason: sent.reason }
  }
  const body = parseJson(sent.text)
  if (sent.status === success && body !== undefined) return { kind: 'ok', value: body }
  const reason = `HTTP ${sent.status}: ${sent.text.slice(0, 200)}`
  return errorOutcome(body) ?? { kind: 'unknown', reason }
}
