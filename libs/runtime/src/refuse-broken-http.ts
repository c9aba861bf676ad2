import type { Socket } from 'node:net'
import { ServiceError } from '@guildhall/contracts'
import { newRequestId } from './request-id.ts'

/**
 * For fastify's `clientErrorHandler`: what is not HTTP never reaches a route, so its refusal is
 * written to the socket here, in the form that every other error has.
 */
export const refuseBrokenHttp = (cause: Error, socket: Socket): void => {
  if (socket.destroyed || !socket.writable) return
  const too_large = 'code' in cause && cause.code === 'HPE_HEADER_OVERFLOW'
  const error = too_large
    ? new ServiceError('payload_too_large', 'the headers are too large')
    : new ServiceError('invalid_argument', 'this is not HTTP')
  const { message, ...body } = error.toBody(newRequestId())
  const text = JSON.stringify({ error: message, message, ...body })
  const status = too_large ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  )
}
