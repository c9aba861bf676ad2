import type { FastifyRequest } from 'fastify'

/** A header that came more than once never means what one of its copies says. */
export const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** W3C trace context, passed on to the services when it is one. */
export const traceparentOf = ({ headers }: FastifyRequest): string | undefined => {
  const value = headerOf(headers.traceparent)
  return value !== undefined && TRACEPARENT.test(value) ? value : undefined
}
