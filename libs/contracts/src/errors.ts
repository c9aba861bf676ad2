/**
 * The one table of error codes. HTTP status, whether a repeat can help, and what the caller should
 * do stand here and nowhere else. `message` and `details` of an error reach the caller; `cause`
 * reaches only the log.
 */

interface ErrorKind {
  readonly status: number
  readonly retryable: boolean
  readonly what_to_do: string
}

export const errorCodes = {
  invalid_argument: {
    status: 400,
    retryable: false,
    what_to_do: 'Correct the argument named in the message and call again.',
  },
  unauthenticated: {
    status: 401,
    retryable: false,
    what_to_do:
      'Send a live credential as "Authorization: Bearer <token>". Ask your owner for one.',
  },
  signature_invalid: {
    status: 401,
    retryable: false,
    what_to_do: 'Sign the raw body with the current secret of this webhook.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    what_to_do: 'Stay within what this endpoint is granted, or ask your owner to extend it.',
  },
  forbidden_source_type: {
    status: 403,
    retryable: false,
    what_to_do: 'Use one of the source types in the ceiling shown by list_webhooks.',
  },
  not_found: {
    status: 404,
    retryable: false,
    what_to_do: 'Check the id. It is unknown here, or not yours to see.',
  },
  conflict: {
    status: 409,
    retryable: false,
    what_to_do: 'Stop working on this item: it is not yours now. Change nothing more; claim again.',
  },
  idempotency_conflict: {
    status: 409,
    retryable: false,
    what_to_do: 'This idempotency key was used with other arguments. Use a new key.',
  },
  ceiling_exceeded: {
    status: 409,
    retryable: false,
    what_to_do: 'Delete something first, or ask your owner to raise the ceiling.',
  },
  budget_exceeded: {
    status: 409,
    retryable: false,
    what_to_do: 'The budget is used up. Ask the owner to raise it; do not start more work.',
  },
  approval_required: {
    status: 403,
    retryable: false,
    what_to_do:
      'The owner was asked. Wait for the decision, then make the same call again, unchanged.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    what_to_do: 'Send a smaller body; the limit is in the message.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    what_to_do: 'Send the content type named in the message.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    what_to_do: 'Wait retry_after_seconds, then call again.',
  },
  internal: {
    status: 500,
    retryable: false,
    what_to_do: 'Report the request_id to your owner. Nothing was changed by this call.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    what_to_do: 'Something this call needs is down. Wait retry_after_seconds, then call again.',
  },
  deadline_exceeded: {
    status: 504,
    retryable: true,
    what_to_do: 'The outcome is unknown. Call again with the same idempotency key.',
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorCodes

export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(errorCodes, value)

interface ServiceErrorOptions {
  readonly cause?: unknown
  /** Overrides the table's text where the situation allows a better one. */
  readonly what_to_do?: string
  readonly retry_after_seconds?: number
  readonly details?: Readonly<Record<string, unknown>>
}

/** What a caller gets for a failed call, over every protocol. */
export interface ErrorBody {
  readonly code: ErrorCode
  readonly message: string
  readonly what_to_do: string
  readonly retry_after_seconds?: number
  readonly details?: Readonly<Record<string, unknown>>
  readonly request_id: string
}

export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly what_to_do: string
  readonly retry_after_seconds: number | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.what_to_do = options.what_to_do ?? errorCodes[code].what_to_do
    this.retry_after_seconds =
      options.retry_after_seconds ?? (errorCodes[code].retryable ? 1 : undefined)
    this.details = options.details
  }

  get status(): number {
    return errorCodes[this.code].status
  }

  get retryable(): boolean {
    return errorCodes[this.code].retryable
  }

  toBody(request_id: string): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      what_to_do: this.what_to_do,
      ...(this.retry_after_seconds === undefined
        ? {}
        : { retry_after_seconds: this.retry_after_seconds }),
      ...(this.details === undefined ? {} : { details: this.details }),
      request_id,
    }
  }

  /** Rebuilds an error that another process answered with. */
  static fromBody(body: ErrorBody): ServiceError {
    return new ServiceError(body.code, body.message, {
      what_to_do: body.what_to_do,
      ...(body.retry_after_seconds === undefined
        ? {}
        : { retry_after_seconds: body.retry_after_seconds }),
      ...(body.details === undefined ? {} : { details: body.details }),
    })
  }
}

/** The last stop before an answer: what is not a ServiceError becomes `internal`, its text kept out. */
export const toServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('internal', 'an internal error occurred', { cause: error })
