/** JSON-RPC 2.0 as both eras of the protocol use it: reading one message, writing one answer. */

export type RequestId = string | number

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: Params
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: Params
}

export type RpcMessage =
  | RpcRequest
  | RpcNotification
  | { readonly kind: 'response' }
  | { readonly kind: 'invalid'; readonly id: RequestId | null }

export type Params = Readonly<Record<string, unknown>>

/**
 * -32020 and up are allocated by revision 2026-07-28. Its predecessors used -32002 for a resource
 * that does not exist; 2026-07-28 forbids that code.
 */
export const rpcCodes = {
  parse_error: -32_700,
  invalid_request: -32_600,
  method_not_found: -32_601,
  invalid_params: -32_602,
  internal_error: -32_603,
  legacy_resource_not_found: -32_002,
  header_mismatch: -32_020,
  unsupported_version: -32_022,
} as const

interface RpcErrorOptions {
  readonly data?: unknown
  /** HTTP status, where the transport binds the error to one. */
  readonly status?: number
}

/** A failure of the protocol itself. What a tool reports is a result, not one of these. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  readonly status: number

  constructor(code: number, message: string, { data, status = 200 }: RpcErrorOptions = {}) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

export const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const NO_PARAMS: Params = Object.freeze({})

const isId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value)

export const readMessage = (value: unknown): RpcMessage => {
  if (!isObject(value)) return { kind: 'invalid', id: null }
  const { jsonrpc, id, method, params = NO_PARAMS } = value
  const known_id = isId(id) ? id : null
  if (jsonrpc !== '2.0' || !isObject(params)) return { kind: 'invalid', id: known_id }
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params }
    if (known_id !== null) return { kind: 'request', id: known_id, method, params }
    return { kind: 'invalid', id: null }
  }
  const answers = method === undefined && known_id !== null
  if (answers && ('result' in value || 'error' in value)) return { kind: 'response' }
  return { kind: 'invalid', id: known_id }
}

/** `result` is JSON text already: a result is serialized once, however many layers it crosses. */
export const resultText = (id: RequestId, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`

export const errorText = (id: RequestId | null, error: RpcError): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    error: {
      code: error.code,
      message: error.message,
      ...(error.data === undefined ? {} : { data: error.data }),
    },
  })

export const notificationText = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) })
