import type { ErrorBody, Operation, OutputOf } from '@guildhall/contracts'
import type { z } from 'zod'
import { expect } from './demo-stopped.ts'
import { bearer, request } from './request.ts'

/** A worker with the agent's credential: MCP's tools/call, without any library. */
export interface Agent {
  call<Op extends Operation>(op: Op, args: z.input<Op['input']>): Promise<OutputOf<Op>>
  /** For a call that must be refused. */
  refused<Op extends Operation>(op: Op, args: z.input<Op['input']>): Promise<ErrorBody>
}

interface ToolResult {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content: readonly { readonly text: string }[]
}

export const agentAt = (mcp_url: string, token: string): Agent => {
  const headers = { ...bearer(token), accept: 'application/json, text/event-stream' }
  const tool = async ({ name }: Operation, args: unknown): Promise<ToolResult> => {
    const params = { name, arguments: args }
    const rpc = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const { status, text, body } = await request('POST', mcp_url, headers, rpc)
    expect(body.result !== undefined, `a result of ${name}`, `${status} ${text}`)
    return body.result as ToolResult // of JSON-RPC; looked at by the callers
  }
  return {
    call: async (op, args) => {
      const result = await tool(op, args)
      expect(result.isError !== true, `${op.name} to work`, result.content)
      return op.output.parse(result.structuredContent) as OutputOf<typeof op> // just parsed
    },
    refused: async (op, args) => {
      const result = await tool(op, args)
      expect(result.isError === true, `${op.name} to be refused`, result.structuredContent)
      return JSON.parse(result.content[0]?.text ?? '{}')
    },
  }
}
