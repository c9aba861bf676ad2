import {
  isObject,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  readMessage,
  rpcCodes,
} from './json-rpc.ts'
import {
  checkEnvelope,
  claimedVersion,
  hasEnvelope,
  headerMismatch,
  isValidModernEnvelope,
  type McpHeaders,
  missingEnvelope,
  unsupportedVersion,
} from './modern-envelope.ts'
import {
  BATCH_VERSION,
  isModernVersion,
  legacyVersions,
  MODERN_VERSION,
  supportedVersions,
  VERSION_WITHOUT_HEADER,
} from './versions.ts'

/**
 * Which era a POST belongs to. The body decides: a request with the 2026-07-28 envelope is modern,
 * one without is not. The version header only has to agree, so a proxy that drops it cannot move a
 * request into the other era.
 */

type Route =
  | { readonly era: 'modern'; readonly message: RpcRequest | RpcNotification }
  | { readonly era: 'legacy'; readonly message: RpcMessage }
  | { readonly era: 'legacy'; readonly batch: readonly RpcMessage[] }

const BATCH_MAX_MESSAGES = 32

const invalidRequest = (message: string): RpcError =>
  new RpcError(rpcCodes.invalid_request, `Invalid request: ${message}`, { status: 400 })

const namesModern = (headers: McpHeaders): boolean =>
  headers.version !== undefined && isModernVersion(headers.version)

const checkLegacyHeader = ({ version }: McpHeaders): void => {
  if (version !== undefined && !legacyVersions.includes(version))
    throw unsupportedVersion(version, supportedVersions)
}

const classifyBatch = (values: readonly unknown[], headers: McpHeaders): Route => {
  checkLegacyHeader(headers)
  if ((headers.version ?? VERSION_WITHOUT_HEADER) !== BATCH_VERSION) {
    throw invalidRequest(`batches exist in protocol version ${BATCH_VERSION} only`)
  }
  if (values.length === 0) throw invalidRequest('the batch is empty')
  if (values.length > BATCH_MAX_MESSAGES) {
    throw invalidRequest(`a batch may hold at most ${BATCH_MAX_MESSAGES} messages`)
  }
  const batch = values.map(readMessage)
  for (const message of batch) {
    if (message.kind === 'request' && message.method === 'initialize') {
      throw invalidRequest('initialize must not be part of a batch')
    }
    if ('params' in message && hasEnvelope(message.params)) {
      throw invalidRequest(`protocol version ${MODERN_VERSION} has no batches`)
    }
  }
  return { era: 'legacy', batch }
}

const classifyRequest = (message: RpcRequest, headers: McpHeaders): Route => {
  const { method, params } = message
  if (method === 'initialize' && !isValidModernEnvelope(params)) {
    if (namesModern(headers)) {
      throw headerMismatch(`initialize does not exist in protocol version ${headers.version}`)
    }
    return { era: 'legacy', message }
  }
  if (hasEnvelope(params)) {
    checkEnvelope(message, headers)
    return { era: 'modern', message }
  }
  if (headers.version !== undefined && namesModern(headers)) throw missingEnvelope(headers.version)
  checkLegacyHeader(headers)
  return { era: 'legacy', message }
}

const classifyNotification = (message: RpcNotification, headers: McpHeaders): Route => {
  const claimed = hasEnvelope(message.params)
  if (!claimed && !namesModern(headers)) {
    checkLegacyHeader(headers)
    return { era: 'legacy', message }
  }
  const version = claimed ? claimedVersion(message.params) : headers.version
  if (headers.version !== undefined && headers.version !== version) {
    throw headerMismatch('MCP-Protocol-Version does not match the version in _meta')
  }
  if (headers.method !== undefined && headers.method !== message.method) {
    throw headerMismatch('Mcp-Method does not match the method of the body')
  }
  if (version !== MODERN_VERSION) throw unsupportedVersion(version ?? 'unknown')
  return { era: 'modern', message }
}

/** Throws an RpcError when no era could serve this body with these headers. */
export const classify = (body: unknown, headers: McpHeaders): Route => {
  if (Array.isArray(body)) return classifyBatch(body, headers)
  const message = readMessage(body)
  switch (message.kind) {
    case 'request':
      return classifyRequest(message, headers)
    case 'notification':
      return classifyNotification(message, headers)
    case 'response':
      if (namesModern(headers)) throw invalidRequest('responses cannot be posted')
      return { era: 'legacy', message }
    case 'invalid':
      throw invalidRequest('the body is not a JSON-RPC message')
  }
}

/** The id to answer an error with when the message itself was refused. */
export const idOf = (body: unknown): RequestId | null => {
  if (!isObject(body)) return null
  const message = readMessage(body)
  return message.kind === 'request' || message.kind === 'invalid' ? message.id : null
}
