import { MCP_BODY_MAX_BYTES, ServiceError } from '@guildhall/contracts'
import type { FastifyError } from 'fastify'

/** What fastify itself refuses, in our words. */
export const asServiceError = (
  error: FastifyError | ServiceError,
  body_max_bytes: number = MCP_BODY_MAX_BYTES,
): ServiceError => {
  if (error instanceof ServiceError) return error
  const status = error.statusCode ?? 500
  if (status === 413) {
    const message = `the body may have at most ${body_max_bytes} bytes`
    return new ServiceError('payload_too_large', message)
  }
  if (status === 415) {
    return new ServiceError('unsupported_media_type', 'the content type must be application/json')
  }
  if (status >= 400 && status < 500) {
    return new ServiceError('invalid_argument', 'the request is malformed', { cause: error })
  }
  return new ServiceError('internal', 'an internal error occurred', { cause: error })
}
