import { fastify } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Part } from './lifecycle.ts'

export const metrics = new Registry()

interface OpsServerOptions {
  readonly host: string
  readonly port: number
  readonly service: string
  /** Names of the dependencies and whether each can be used now. */
  readonly ready: () => Promise<Record<string, boolean>>
}

/**
 * Health, readiness and metrics on a port of their own, which is never public. /health says only
 * that the event loop answers: a dependency that is down must not get every process restarted.
 */
export const opsServer = ({ host, port, service, ready }: OpsServerOptions): Part => {
  const app = fastify({ logger: false })
  app.get('/health', () => ({ status: 'ok', service }))
  app.get('/ready', async (_request, reply) => {
    const dependencies = await ready()
    const ok = Object.values(dependencies).every(Boolean)
    return reply.code(ok ? 200 : 503).send({ ready: ok, dependencies })
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  )
  return {
    name: 'ops-server',
    start: async () => {
      if (port === 0) return
      collectDefaultMetrics({ register: metrics })
      await app.listen({ host, port })
    },
    stop: async () => {
      await app.close()
    },
  }
}
