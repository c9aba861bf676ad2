import type { FastifyInstance } from 'fastify'
import { contractVersion } from '../tools/tool-catalogue.ts'
import type { HttpServices } from './http-services.ts'

/** For load balancers and for people. No credential, no Host check: probes use bare addresses. */
export const addHealthRoutes = (app: FastifyInstance, { ready }: HttpServices): void => {
  app.get('/health', async () => ({
    status: 'ok',
    transport: 'streamable-http',
    contract: contractVersion,
  }))
  app.get('/ready', async (_request, reply) => {
    const dependencies = ready()
    const ok = Object.values(dependencies).every(Boolean)
    return reply.code(ok ? 200 : 503).send({ ready: ok, dependencies })
  })
}
