import { toServiceError } from '@guildhall/contracts'
import { newRequestId } from '@guildhall/runtime'

/** The one place where an error becomes an HTTP answer. `error` is what providers show. */

interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

const frameworkStatus = (error: unknown): number | undefined => {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined
  const { statusCode } = error
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined
}

export const errorAnswer = (thrown: unknown): HttpAnswer => {
  const request_id = newRequestId()
  const status = frameworkStatus(thrown)
  if (status !== undefined) {
    return { status, headers: {}, body: { error: 'the request is malformed', request_id } }
  }
  const error = toServiceError(thrown)
  const { message, ...body } = error.toBody(request_id)
  return {
    status: error.status,
    headers:
      error.retry_after_seconds === undefined
        ? {}
        : { 'retry-after': String(error.retry_after_seconds) },
    body: { error: message, ...body },
  }
}
