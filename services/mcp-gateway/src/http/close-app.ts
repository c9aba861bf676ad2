import type { FastifyInstance } from 'fastify'

const SWEEP_MS = 50
/** For requests whose first bytes are on their way while the listener closes. */
const GRACE_MS = 500

/**
 * Answers what has been asked, then ends every connection. Node closes those that are idle at the
 * moment of the call, and no others: not one whose answer ends later, and not one that a client
 * opened ahead of its next request, for which a drain would wait a minute.
 */
export const closeApp = async (app: FastifyInstance): Promise<void> => {
  const { server } = app
  const grace_until = performance.now() + GRACE_MS
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    if (performance.now() >= grace_until && inFlight(app) === 0) server.closeAllConnections()
  }, SWEEP_MS)
  try {
    await app.close()
  } finally {
    clearInterval(sweep)
  }
}

const counts = new WeakMap<FastifyInstance, { requests: number }>()

const inFlight = (app: FastifyInstance): number => counts.get(app)?.requests ?? 0

/** Counts the requests that are being answered, on the server itself: hijacked replies included. */
export const countRequests = (app: FastifyInstance): void => {
  const count = { requests: 0 }
  counts.set(app, count)
  app.server.on('request', (_request, response) => {
    count.requests += 1
    response.on('close', () => {
      count.requests -= 1
    })
  })
}
