import type { ServiceError } from '@guildhall/contracts'
import type { FastifyReply } from 'fastify'
import { rejections } from '../gateway-metrics.ts'

interface SendErrorOptions {
  /** Where HTTP has a more exact status than the error's code (405, 406). */
  readonly status?: number
}

/** Every refusal over HTTP, of /mcp and /api alike, has this one form. */
export const sendError = (
  reply: FastifyReply,
  error: ServiceError,
  { status = error.status }: SendErrorOptions = {},
): FastifyReply => {
  rejections.inc({ code: error.code })
  if (status === 401) void reply.header('www-authenticate', 'Bearer realm="guildhall"')
  if (error.retry_after_seconds !== undefined) {
    void reply.header('retry-after', String(error.retry_after_seconds))
  }
  return reply.code(status).type('application/json').send(error.toBody(reply.request.id))
}
