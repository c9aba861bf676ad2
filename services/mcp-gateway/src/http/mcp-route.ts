import { ServiceError } from '@guildhall/contracts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sseFrames } from '../doorbell/notification-stream.ts'
import { legacySubscriber, listenSubscriber, type Subscriber } from '../doorbell/subscriber.ts'
import { humanView } from '../identity/endpoint-view.ts'
import type { Identified, Identity } from '../identity/identity.ts'
import { errorText, RpcError, rpcCodes } from '../protocol/json-rpc.ts'
import { acknowledgement, isEmptyFilter, listenResult } from '../protocol/listen.ts'
import type { McpHeaders } from '../protocol/modern-envelope.ts'
import { queueUri } from '../protocol/resources.ts'
import { callCount, type HttpAnswer, type Served, serveBody } from '../protocol/serve-message.ts'
import { isModernVersion } from '../protocol/versions.ts'
import type { ToolContext } from '../tools/tool-context.ts'
import {
  type AgentCaller,
  admitCaller,
  chargeCaller,
  checkLoaded,
  checkPerimeter,
} from './admit.ts'
import { addPreflight, allowOrigin } from './cors.ts'
import type { HttpServices } from './http-services.ts'
import { BadJson, parseJsonBody } from './json-body.ts'
import { headerOf, traceparentOf } from './request-headers.ts'
import { sendError } from './send-error.ts'
import { SSE_HEADERS, sseSink } from './sse-sink.ts'

/**
 * One URL for both eras. An Mcp-Session-Id header is ignored: there are no sessions, every request
 * stands for itself, so none of them can be foreign, lost or expired.
 */

const PATH = '/mcp'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Identified | null
  }
}

const mcpHeaders = ({ headers }: FastifyRequest): McpHeaders => ({
  version: headerOf(headers['mcp-protocol-version'])?.trim(),
  method: headerOf(headers['mcp-method'])?.trim(),
  name: headerOf(headers['mcp-name'])?.trim(),
})

const accepts = ({ headers }: FastifyRequest, type: string): boolean => {
  const accept = headers.accept?.toLowerCase() ?? ''
  return accept.includes(type) || accept.includes('*/*')
}

const notAcceptable = (types: string): ServiceError =>
  new ServiceError('invalid_argument', `the Accept header must list ${types}`)

const callerOf = ({ caller }: FastifyRequest): Identified => {
  if (caller === null) throw new ServiceError('unauthenticated', 'a live credential is needed')
  return caller
}

type Whose = Pick<ToolContext, 'view' | 'endpoint' | 'principal' | 'live'>

const contextOf = (identity: Identity, caller: Identified): Whose => {
  if (caller.kind === 'human') {
    const { user_id, live } = caller
    return { view: humanView, principal: { kind: 'human', user_id }, live }
  }
  const { view, credential } = caller
  const live = (): boolean => identity.stillLive(credential) !== undefined
  return { view, endpoint: view, principal: view.principal, live }
}

const toolContext = (
  { identity }: HttpServices,
  request: FastifyRequest,
  reply: FastifyReply,
): ToolContext => ({
  ...contextOf(identity, callerOf(request)),
  request_id: request.id,
  traceparent: traceparentOf(request),
  gone: () => reply.raw.destroyed || request.raw.socket.destroyed,
})

/** Before the body is read: nothing of a request that will be refused is worth parsing. */
const admit = (services: HttpServices) => async (request: FastifyRequest, reply: FastifyReply) => {
  checkPerimeter(services, request)
  allowOrigin(request, reply)
  checkLoaded(services)
  const caller = admitCaller(services, request)
  chargeCaller(services, caller)
  request.caller = caller
}

const openStream = (
  { doorbell }: HttpServices,
  { view, credential }: AgentCaller,
  reply: FastifyReply,
  subscriber: Subscriber,
  greeting?: string,
): FastifyReply => {
  if (!doorbell.hasRoom(view.endpoint.endpoint_id)) {
    throw new ServiceError('rate_limited', 'this endpoint has too many notification streams', {
      retry_after_seconds: 30,
    })
  }
  void reply.hijack()
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, SSE_HEADERS)
  response.flushHeaders()
  doorbell.attach({
    view,
    credential,
    subscriber,
    sink: sseSink(response),
    ...(greeting === undefined ? {} : { greeting }),
  })
  return reply
}

/** A claim whose answer did not reach the socket is given back. */
const undoIfLost = (reply: FastifyReply, undo: () => Promise<void>): void => {
  if (reply.raw.destroyed) {
    void undo()
    return
  }
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) void undo()
  })
}

/** The text is handed back for the framework to send: awaiting a sent reply costs a listener. */
const sendAnswer = (
  reply: FastifyReply,
  { status, text, undo }: HttpAnswer,
): FastifyReply | string => {
  if (undo !== undefined) undoIfLost(reply, undo)
  void reply.code(status)
  if (text === undefined) return reply.send()
  void reply.type('application/json')
  return text
}

/** A subscription to nothing that exists here: acknowledged as such, and over. */
const sendEvents = (reply: FastifyReply, messages: readonly string[]): FastifyReply =>
  reply.headers(SSE_HEADERS).send(sseFrames(messages))

const parseBody = (request: FastifyRequest): unknown => {
  const { body } = request
  return parseJsonBody(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
}

const isModernRequest = ({ version }: McpHeaders): boolean =>
  version !== undefined && isModernVersion(version)

const handlePost =
  (services: HttpServices) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | string> => {
    const headers = mcpHeaders(request)
    const bothTypes = accepts(request, 'application/json') && accepts(request, 'text/event-stream')
    if (!bothTypes && !isModernRequest(headers)) {
      const error = notAcceptable('application/json and text/event-stream')
      return sendError(reply, error, { status: 406 })
    }
    let body: unknown
    try {
      body = parseBody(request)
    } catch (error) {
      if (!(error instanceof BadJson)) throw error
      const parse_error = new RpcError(rpcCodes.parse_error, `Parse error: ${error.message}`)
      return sendAnswer(reply, { status: 400, text: errorText(null, parse_error) })
    }
    const more = callCount(body) - 1
    if (more > 0) chargeCaller(services, callerOf(request), more)
    const context = toolContext(services, request, reply)
    const served: Served = await serveBody(services.tools, context, body, headers)
    if (!('listen' in served)) return sendAnswer(reply, served)
    const { listen, id } = served
    const greeting = acknowledgement(listen, id, queueUri)
    const caller = callerOf(request)
    if (isEmptyFilter(listen) || caller.kind === 'human') {
      return sendEvents(reply, [greeting, listenResult(id)])
    }
    return openStream(services, caller, reply, listenSubscriber(listen, id), greeting)
  }

const handleGet =
  (services: HttpServices) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (isModernRequest(mcpHeaders(request))) return refuseMethod(request, reply)
    if (!accepts(request, 'text/event-stream')) {
      return sendError(reply, notAcceptable('text/event-stream'), { status: 406 })
    }
    const caller = callerOf(request)
    // Rings go to the queues of an endpoint. To a client this status says: no stream here.
    if (caller.kind === 'human') return refuseMethod(request, reply)
    return openStream(services, caller, reply, legacySubscriber)
  }

const refuseMethod = async (
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const error = new ServiceError('invalid_argument', `${request.method} is not used here`)
  return sendError(reply.header('allow', 'GET, POST'), error, { status: 405 })
}

export const addMcpRoute = (app: FastifyInstance, services: HttpServices): void => {
  app.decorateRequest('caller', null)
  const onRequest = admit(services)
  app.post(PATH, { onRequest }, handlePost(services))
  app.get(PATH, { onRequest, exposeHeadRoute: false }, handleGet(services))
  // No session that could be ended, and nothing else that these methods could mean.
  app.route({ method: ['DELETE', 'PUT', 'PATCH'], url: PATH, onRequest, handler: refuseMethod })
  addPreflight(app, services, PATH)
}
