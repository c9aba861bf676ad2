import { ServiceError } from '@guildhall/contracts'
import { ErrorCode as NatsCode, NatsError } from 'nats'

/** JetStream's own codes (server/errors.json). */
const WRONG_LAST_SEQUENCE = 10_071
const WRONG_LAST_SEQUENCE_CONSTANT = 10_164
const STREAM_NOT_FOUND = 10_059
const CONSUMER_NOT_FOUND = 10_014

const apiCode = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined

/** The compare-and-set lost: somebody else wrote first. */
export const isCasConflict = (error: unknown): boolean => {
  const code = apiCode(error)
  return code === WRONG_LAST_SEQUENCE || code === WRONG_LAST_SEQUENCE_CONSTANT
}

export const isStreamNotFound = (error: unknown): boolean => apiCode(error) === STREAM_NOT_FOUND
export const isConsumerNotFound = (error: unknown): boolean => apiCode(error) === CONSUMER_NOT_FOUND

export const isNoResponders = (error: unknown): boolean =>
  error instanceof NatsError && error.code === NatsCode.NoResponders

export const isTimeout = (error: unknown): boolean =>
  error instanceof NatsError && error.code === NatsCode.Timeout

/**
 * What the bus could not do becomes `unavailable`: it is down, full, or without a leader, and a
 * repeat after a moment can help. The original stays as the cause, for the log.
 */
export const busUnavailable = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('unavailable', 'the message bus cannot serve this right now', {
        cause: error,
      })
