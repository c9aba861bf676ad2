import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { checkPerimeter } from './admit.ts'
import type { HttpServices } from './http-services.ts'

/**
 * Lets pages of an allowed origin call /mcp. The Origin check has already refused all others, so
 * here an Origin is an allowed one. No credentials mode: a browser never adds a bearer by itself.
 */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
].join(', ')

const PREFLIGHT_MAX_AGE_SECONDS = 600

export const allowOrigin = (request: FastifyRequest, reply: FastifyReply): void => {
  const { origin } = request.headers
  if (origin === undefined) return
  void reply.header('access-control-allow-origin', origin)
  void reply.header('access-control-expose-headers', 'www-authenticate, retry-after')
  void reply.header('vary', 'origin')
}

export const addPreflight = (app: FastifyInstance, services: HttpServices, path: string): void => {
  app.options(path, async (request, reply) => {
    checkPerimeter(services, request)
    allowOrigin(request, reply)
    return reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST')
      .header('access-control-allow-headers', REQUEST_HEADERS)
      .header('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS))
      .send()
  })
}
