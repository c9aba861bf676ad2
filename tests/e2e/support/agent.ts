import type { ErrorBody, Operation, OutputOf } from '@guildhall/contracts'
import type { z } from 'zod'
import { type Answer, send } from './http.ts'

/** An agent with its credential, over plain HTTP, so that a test sees exactly what is on the wire. */

export const mcpHeaders = (token: string | undefined): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
})

export const postRpc = (
  url: string,
  token: string | undefined,
  method: string,
  params: object = {},
): Promise<Answer> =>
  send(url, {
    method: 'POST',
    headers: mcpHeaders(token),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })

interface ToolResult {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content: readonly { readonly type: string; readonly text: string }[]
}

export interface Agent {
  readonly token: string
  /** The result of tools/call, whatever it is. */
  tool(name: string, args?: object): Promise<ToolResult>
  /** The output, checked against the contract; throws when the call was refused. */
  call<Op extends Operation>(op: Op, args: z.input<Op['input']>): Promise<OutputOf<Op>>
  /** The error body; throws when the call was not refused. */
  refused(name: string, args?: object): Promise<ErrorBody>
  toolNames(): Promise<string[]>
}

const errorOf = (result: ToolResult): ErrorBody => JSON.parse(result.content[0]?.text ?? '{}')

export const agentAt = (url: string | (() => string), token: string): Agent => {
  const at = (): string => (typeof url === 'string' ? url : url())
  const rpc = async <T>(method: string, params: object): Promise<T> => {
    const answer = await postRpc(at(), token, method, params)
    const body = answer.body as { result?: T } | undefined // of JSON-RPC; checked in the next line
    if (body?.result === undefined) throw new Error(`${method}: ${answer.status} ${answer.text}`)
    return body.result
  }
  const tool = (name: string, args: object = {}): Promise<ToolResult> =>
    rpc('tools/call', { name, arguments: args })
  return {
    token,
    tool,
    call: async (op, args) => {
      const result = await tool(op.name, args as object) // every input is an object
      if (result.isError === true) {
        throw new Error(`${op.name} was refused: ${JSON.stringify(errorOf(result))}`)
      }
      return op.output.parse(result.structuredContent) as OutputOf<typeof op> // just parsed
    },
    refused: async (name, args) => {
      const result = await tool(name, args)
      if (result.isError === true) return errorOf(result)
      throw new Error(`${name} was not refused: ${JSON.stringify(result.structuredContent)}`)
    },
    toolNames: async () => {
      const { tools } = await rpc<{ tools: { name: string }[] }>('tools/list', {})
      return tools.map(({ name }) => name)
    },
  }
}
