import { z } from 'zod'
import type { CallInfo, History, Outcome } from './history.ts'
import { errorOutcome, type Http, parseJson, type Sent, toOutcome } from './http.ts'

/** The least that an MCP client can be: tools/call by plain POST, each on its own. */

const PROTOCOL_VERSION = '2025-11-25'

const Result = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.object({ text: z.string() })),
})

const Answer = z.object({
  result: Result.optional(),
  error: z.object({ code: z.int(), message: z.string() }).optional(),
})

const readAnswer = (sent: Sent): Outcome => {
  if (sent.status !== 200) return toOutcome(sent, 200)
  const { data } = Answer.safeParse(parseJson(sent.text))
  if (data?.result === undefined) {
    const message = data?.error?.message ?? `not an answer: ${sent.text.slice(0, 200)}`
    return { kind: 'error', code: 'protocol_error', message }
  }
  const { isError, structuredContent, content } = data.result
  if (isError !== true) return { kind: 'ok', value: structuredContent }
  const body = parseJson(content[0]?.text ?? '')
  return errorOutcome(body) ?? { kind: 'error', code: 'protocol_error', message: 'no error body' }
}

interface ToolCall extends Omit<CallInfo, 'to'> {
  readonly timeout_ms?: number
}

export interface Mcp {
  /** Recorded, whatever comes of it. */
  call(url: string, token: string, call: ToolCall): Promise<Outcome>
}

/** Longer than a gateway takes to try twice. */
const TIMEOUT_MS = 20_000

export const openMcp = (http: Http, history: History): Mcp => {
  let ids = 0
  const post = (url: string, token: string, call: ToolCall): Promise<Sent> => {
    ids += 1
    const params = { name: call.name, arguments: call.input }
    return http.send({
      url,
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': PROTOCOL_VERSION,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ids, method: 'tools/call', params }),
      timeout_ms: call.timeout_ms ?? TIMEOUT_MS,
    })
  }
  return {
    call: (url, token, call) => {
      const { timeout_ms: _timeout_ms, ...info } = call
      return history.record({ ...info, to: new URL(url).host }, async () =>
        readAnswer(await post(url, token, call)),
      )
    },
  }
}
