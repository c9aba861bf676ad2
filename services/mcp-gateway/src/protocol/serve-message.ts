import { callTool } from '../tools/call-tool.ts'
import { listTools } from '../tools/list-tools.ts'
import type { ToolAnswer, ToolContext, ToolServices } from '../tools/tool-context.ts'
import { discover, initialize } from './capabilities.ts'
import { classify, idOf } from './classify.ts'
import {
  errorText,
  isObject,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  resultText,
  rpcCodes,
} from './json-rpc.ts'
import { type ListenFilter, readListenFilter } from './listen.ts'
import type { McpHeaders } from './modern-envelope.ts'
import { listResources, listResourceTemplates, readResource } from './resources.ts'
import { cacheable, legacyResult, type Members, modernResult } from './result.ts'

/**
 * The protocol, for both eras, without HTTP types.
 *
 * Why this is a thin handler of ours and not one of the official servers (read: sdk 1.32 and
 * server 2.4, both by their sources):
 * - sdk 1.32 binds the notification stream to a session that lives in one process. Its stateless
 *   mode builds a server and a transport for each request, and has no GET stream at all.
 * - server 2.4 (createMcpHandler) speaks 2026-07-28 and serves older clients by the same stateless
 *   fallback: their GET is a 405, so they would never hear a doorbell. Its listen streams hang on
 *   one event bus without a bound per stream, without an owner, and know only the four standard
 *   notifications.
 * - Both parse every message with several zod schemas and build a web Request and Response around
 *   it. An echo tool of theirs costs more than our whole authenticated call; see the benchmark.
 * What remains for us is small, because nothing here has a session: initialize is a pure function.
 * The official clients of both lines judge the outcome in the tests. Names and codes follow the
 * specification of 2026-07-28 and, for the older era, the constants of the SDK.
 */

export interface HttpAnswer {
  readonly status: number
  /** Absent: no body. */
  readonly text?: string
  readonly undo?: () => Promise<void>
}

export type Served = HttpAnswer | { readonly listen: ListenFilter; readonly id: RequestId }

/** An endpoint's edit is announced on its streams; this bounds what a client without one misses. */
const LIST_TTL_MS = 60_000

type Serve = (
  services: ToolServices,
  context: ToolContext,
  request: RpcRequest,
) => Promise<ToolAnswer | undefined>

/** Undefined: the revision does not have, or we do not offer, this method. */
const serveShared: Serve = async (services, context, { method, params }) => {
  switch (method) {
    case 'tools/call':
      return callTool(services, context, params.name, params.arguments)
    case 'tools/list':
      return { members: listTools(context.view) }
    case 'resources/list':
      return { members: listResources(context.view) }
    case 'resources/templates/list':
      return { members: listResourceTemplates() }
    default:
      return undefined
  }
}

const serveLegacy: Serve = async (services, context, request) => {
  const { method, params } = request
  switch (method) {
    case 'initialize':
      return { members: initialize(context.view, params) }
    case 'ping':
      return { members: '' }
    case 'resources/read': {
      const missing = rpcCodes.legacy_resource_not_found
      return { members: await readResource(services, context, params.uri, missing) }
    }
    // Without sessions there is nothing to remember. An attached stream is rung for every queue
    // that its endpoint is granted, so whoever subscribes gets what was asked for.
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return { members: '' }
    default:
      return serveShared(services, context, request)
  }
}

const modernTtls: Readonly<Record<string, number>> = {
  'server/discover': LIST_TTL_MS,
  'tools/list': LIST_TTL_MS,
  'resources/list': LIST_TTL_MS,
  'resources/templates/list': LIST_TTL_MS,
  'resources/read': 0,
}

const serveModern: Serve = async (services, context, request) => {
  const { method, params } = request
  const ttl_ms = Object.hasOwn(modernTtls, method) ? modernTtls[method] : undefined
  const hinted = (members: Members): Members =>
    ttl_ms === undefined ? members : cacheable(members, ttl_ms)
  switch (method) {
    case 'server/discover':
      return { members: hinted(discover(context.view)) }
    case 'resources/read': {
      const missing = rpcCodes.invalid_params
      return { members: hinted(await readResource(services, context, params.uri, missing)) }
    }
    default: {
      const answer = await serveShared(services, context, request)
      return answer === undefined ? undefined : { ...answer, members: hinted(answer.members) }
    }
  }
}

const methodNotFound = (status: number): RpcError =>
  new RpcError(rpcCodes.method_not_found, 'Method not found', { status })

const asRpcError = (cause: unknown, services: ToolServices, context: ToolContext): RpcError => {
  if (cause instanceof RpcError) return cause
  services.log.error({ err: cause, request_id: context.request_id }, 'request failed')
  return new RpcError(rpcCodes.internal_error, 'Internal error', {
    data: { request_id: context.request_id },
  })
}

const answerLegacy = async (
  services: ToolServices,
  context: ToolContext,
  message: RpcMessage,
): Promise<HttpAnswer> => {
  if (message.kind === 'invalid') {
    const error = new RpcError(rpcCodes.invalid_request, 'Invalid request')
    return { status: 200, text: errorText(message.id, error) }
  }
  if (message.kind !== 'request') return { status: 202 }
  try {
    const answer = await serveLegacy(services, context, message)
    if (answer === undefined) throw methodNotFound(200)
    const { members, undo } = answer
    const text = resultText(message.id, legacyResult(members))
    return { status: 200, text, ...(undo === undefined ? {} : { undo }) }
  } catch (cause) {
    return { status: 200, text: errorText(message.id, asRpcError(cause, services, context)) }
  }
}

/** One after the other: a batch must not be a way to run many calls at once. */
const answerBatch = async (
  services: ToolServices,
  context: ToolContext,
  batch: readonly RpcMessage[],
): Promise<HttpAnswer> => {
  const answers: HttpAnswer[] = []
  for (const message of batch) answers.push(await answerLegacy(services, context, message))
  const texts = answers.flatMap(({ text }) => (text === undefined ? [] : [text]))
  if (texts.length === 0) return { status: 202 }
  const undo = async (): Promise<void> => {
    for (const answer of answers) await answer.undo?.()
  }
  return { status: 200, text: `[${texts.join(',')}]`, undo }
}

const answerModern = async (
  services: ToolServices,
  context: ToolContext,
  request: RpcRequest,
): Promise<Served> => {
  if (request.method === 'subscriptions/listen') {
    return { listen: readListenFilter(request.params, context.view), id: request.id }
  }
  const answer = await serveModern(services, context, request)
  if (answer === undefined) throw methodNotFound(404)
  const { members, undo } = answer
  const text = resultText(request.id, modernResult(members))
  return { status: 200, text, ...(undo === undefined ? {} : { undo }) }
}

/** Serves the parsed body of one POST. Never throws: whatever went wrong is an answer. */
export const serveBody = async (
  services: ToolServices,
  context: ToolContext,
  body: unknown,
  headers: McpHeaders,
): Promise<Served> => {
  try {
    const route = classify(body, headers)
    if ('batch' in route) return await answerBatch(services, context, route.batch)
    if (route.era === 'legacy') return await answerLegacy(services, context, route.message)
    if (route.message.kind === 'notification') return { status: 202 }
    return await answerModern(services, context, route.message)
  } catch (cause) {
    const error = asRpcError(cause, services, context)
    return { status: error.status, text: errorText(idOf(body), error) }
  }
}

/** How many calls a body asks for: a batch counts as each of its messages. */
export const callCount = (body: unknown): number =>
  Array.isArray(body) ? Math.max(1, body.filter(isObject).length) : 1
