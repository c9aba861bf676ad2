import { MCP_BODY_MAX_BYTES, ServiceError } from '@guildhall/contracts'
import { newRequestId, refuseBrokenHttp } from '@guildhall/runtime'
import { type FastifyError, type FastifyInstance, fastify } from 'fastify'
import { addRestRoutes } from '../rest/rest-routes.ts'
import { asServiceError } from './as-service-error.ts'
import { countRequests } from './close-app.ts'
import { addHealthRoutes } from './health-routes.ts'
import type { HttpServices } from './http-services.ts'
import { addMcpRoute } from './mcp-route.ts'
import { sendError } from './send-error.ts'

/** A body must arrive within this time; answers may take longer. */
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 75_000

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

export const createApp = (services: HttpServices): FastifyInstance => {
  const app = fastify({
    logger: false,
    genReqId: newRequestId,
    clientErrorHandler: refuseBrokenHttp,
    bodyLimit: MCP_BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
  })
  countRequests(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onRequest', async (_request, reply) => {
    void reply.headers(SECURITY_HEADERS)
  })
  app.setErrorHandler<FastifyError | ServiceError>((cause, request, reply) => {
    const error = asServiceError(cause)
    if (error.code === 'internal') {
      // The path without its query: a login link carries its secret there.
      const fields = { request_id: request.id, route: request.routeOptions.url }
      services.log.error({ ...fields, err: cause }, 'request failed')
    }
    return sendError(reply, error)
  })
  app.setNotFoundHandler((_request, reply) =>
    sendError(reply, new ServiceError('not_found', 'there is nothing at this path')),
  )
  addHealthRoutes(app, services)
  addMcpRoute(app, services)
  addRestRoutes(app, services)
  return app
}
