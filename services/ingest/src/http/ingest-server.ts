import {
  INGEST_SIGNED_BODY_MAX_BYTES,
  INGEST_TOKEN_BODY_MAX_BYTES,
  ServiceError,
} from '@guildhall/contracts'
import { clientAddress, type Network, type Part, refuseBrokenHttp } from '@guildhall/runtime'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { type AcceptDeps, acceptDelivery } from '../accept-delivery.ts'
import { findWebhook } from '../find-webhook.ts'
import { refusalCounter } from '../metrics.ts'
import { sources } from '../sources/index.ts'
import type { RequestHeaders } from '../sources/source.ts'
import { errorAnswer } from './error-answer.ts'
import { type BodyBudget, type HeldBody, readBody } from './read-body.ts'
import { requestHeaders } from './request-headers.ts'

/** The public door. Providers knock here with anything, and strangers with everything else. */

interface IngestServerOptions {
  readonly host: string
  readonly port: number
  readonly deps: AcceptDeps
  readonly budget: BodyBudget
  readonly trusted_proxies: readonly Network[]
  readonly drain_delay_ms: number
}

const REQUEST_TIMEOUT_MS = 60_000
const IDLE_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 72_000
const NO_CONTENT_TYPE = 'application/octet-stream'

interface WebhookRoute {
  Params: { token: string }
}
type WebhookRequest = FastifyRequest<WebhookRoute>

/** A token that is known and signed allows more; unknown ones are limited like the generic. */
const bodyLimit = (deps: AcceptDeps, token: string): number => {
  const config = findWebhook(deps, token)
  return config !== undefined && sources[config.source_type].trust_mode === 'signed'
    ? INGEST_SIGNED_BODY_MAX_BYTES
    : INGEST_TOKEN_BODY_MAX_BYTES
}

const sendError = (deps: AcceptDeps, reply: FastifyReply, thrown: unknown): FastifyReply => {
  const { status, headers, body } = errorAnswer(thrown)
  refusalCounter.inc({ code: typeof body.code === 'string' ? body.code : 'malformed' })
  if (status >= 500 && body.code === 'internal') {
    deps.log.error({ err: thrown, request_id: body.request_id }, 'request failed')
  }
  return reply.code(status).headers(headers).send(body)
}

const routes = (app: FastifyInstance, { deps, budget, trusted_proxies }: IngestServerOptions) => {
  const sent = new WeakMap<FastifyRequest, RequestHeaders>()
  const held = new WeakMap<FastifyRequest, HeldBody>()

  // The framework answers 415 to a content type that it cannot parse. We take any, so it is put
  // aside before the framework looks, and every body goes to the one parser below.
  app.addHook('onRequest', async (request, reply) => {
    // Comes for every request, also one whose sender is gone before the answer.
    reply.raw.once('close', () => held.get(request)?.release())
    sent.set(request, requestHeaders(request.raw.headers))
    if (request.raw.headers['content-type'] !== undefined) {
      request.raw.headers['content-type'] = NO_CONTENT_TYPE
    }
  })

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
    // No token yet: every request without one ends in a 404, and its body is limited like any.
    const { token = '' } = request.params as { token?: string } // the parser serves every route
    const body = await readBody(payload, bodyLimit(deps, token), budget)
    held.set(request, body)
    return body.bytes
  })

  app.post('/webhooks/w/:token', async (request: WebhookRequest, reply) => {
    // Before the bucket was read, an unknown URL may be one that we do not know yet.
    if (!deps.webhookMirror.ready() || !deps.identityMirror.ready()) {
      throw new ServiceError('unavailable', 'this service is starting')
    }
    const headers = sent.get(request) ?? {}
    const outcome = await acceptDelivery(deps, {
      token: request.params.token,
      headers,
      body: held.get(request)?.bytes ?? Buffer.alloc(0),
      content_type: headers['content-type'] ?? NO_CONTENT_TYPE,
      source_ip: clientAddress(
        request.raw.socket.remoteAddress,
        headers['x-forwarded-for'],
        trusted_proxies,
      ),
    })
    return reply.code(outcome.kind === 'handshake' ? 200 : 202).send(outcome.answer)
  })
}

const createIngestApp = (options: IngestServerOptions): FastifyInstance => {
  const { deps } = options
  const app = fastify({
    // The URL holds the token, so the framework's own request log must stay off.
    logger: false,
    clientErrorHandler: refuseBrokenHttp,
    bodyLimit: INGEST_SIGNED_BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    exposeHeadRoutes: false,
    // A delivery that still arrives while we close is taken like any other.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  })
  app.addHook('onSend', async (_request, reply) => {
    void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  })
  app.setErrorHandler((error, _request, reply) => sendError(deps, reply, error))
  app.setNotFoundHandler((_request, reply) =>
    sendError(deps, reply, new ServiceError('not_found', 'nothing is here')),
  )
  routes(app, options)
  return app
}

export const ingestServer = (
  options: IngestServerOptions,
): Part & { readonly app: FastifyInstance; readonly accepting: () => boolean } => {
  const app = createIngestApp(options)
  let draining = false
  return {
    name: 'ingest-server',
    app,
    accepting: () => app.server.listening && !draining,
    start: async () => {
      await app.listen({ host: options.host, port: options.port })
    },
    stop: async () => {
      if (draining) return
      draining = true
      await new Promise((resolve) => setTimeout(resolve, options.drain_delay_ms))
      await app.close()
    },
  }
}
