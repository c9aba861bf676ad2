import { isObject, type Params, RpcError, type RpcRequest, rpcCodes } from './json-rpc.ts'
import { isModernVersion, MODERN_VERSION } from './versions.ts'

/**
 * What revision 2026-07-28 asks of each request: its `_meta` envelope, and headers that mirror the
 * body so that proxies can route without parsing it. A header that disagrees with the body is
 * refused, because something between us and the client believed it.
 */

export interface McpHeaders {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
}

export const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client_capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client_info: 'io.modelcontextprotocol/clientInfo',
  server_info: 'io.modelcontextprotocol/serverInfo',
  subscription_id: 'io.modelcontextprotocol/subscriptionId',
} as const

const metaOf = (params: Params): Params | undefined => {
  const meta = params._meta
  return isObject(meta) ? meta : undefined
}

/** Only the version key claims the envelope; a progressToken, say, does not. */
export const hasEnvelope = (params: Params): boolean => {
  const meta = metaOf(params)
  return meta !== undefined && Object.hasOwn(meta, metaKeys.version)
}

export const claimedVersion = (params: Params): string | undefined => {
  const version = metaOf(params)?.[metaKeys.version]
  return typeof version === 'string' ? version : undefined
}

export const clientCapabilities = (params: Params): Params => {
  const capabilities = metaOf(params)?.[metaKeys.client_capabilities]
  return isObject(capabilities) ? capabilities : {}
}

const badRequest = (code: number, message: string, data?: unknown): RpcError =>
  new RpcError(code, message, { status: 400, ...(data === undefined ? {} : { data }) })

export const headerMismatch = (message: string): RpcError =>
  badRequest(rpcCodes.header_mismatch, `Header mismatch: ${message}`)

/** `supported` is of the era in which was asked: a client picks from it and asks again in that way. */
export const unsupportedVersion = (
  requested: string,
  supported: readonly string[] = [MODERN_VERSION],
): RpcError =>
  badRequest(rpcCodes.unsupported_version, 'Unsupported protocol version', {
    supported,
    requested,
  })

export const missingEnvelope = (version: string): RpcError =>
  badRequest(
    rpcCodes.invalid_params,
    `MCP-Protocol-Version names ${version}, so params._meta must carry "${metaKeys.version}" and "${metaKeys.client_capabilities}"`,
  )

const envelopeFault = (params: Params): string | undefined => {
  const meta = metaOf(params) ?? {}
  if (typeof meta[metaKeys.version] !== 'string') return `"${metaKeys.version}" must be a string`
  if (!isObject(meta[metaKeys.client_capabilities])) {
    return `"${metaKeys.client_capabilities}" must be an object`
  }
  const info = meta[metaKeys.client_info]
  if (info !== undefined && !isObject(info)) return `"${metaKeys.client_info}" must be an object`
  return undefined
}

export const isValidModernEnvelope = (params: Params): boolean =>
  envelopeFault(params) === undefined && isModernVersion(claimedVersion(params) ?? '')

/** The body fields that Mcp-Name repeats. */
const nameSources: Readonly<Record<string, 'name' | 'uri'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** What a header cannot hold travels as base64 between marks. `undefined`: not decodable. */
const decodeName = (header: string): string | undefined => {
  if (!header.startsWith('=?base64?')) return header
  const encoded = SENTINEL.exec(header)?.[1]
  if (encoded === undefined) return undefined
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}

const checkName = ({ method, params }: RpcRequest, header: string | undefined): void => {
  const source = Object.hasOwn(nameSources, method) ? nameSources[method] : undefined
  if (source === undefined) return
  const expected = params[source]
  if (typeof expected !== 'string') return
  if (header === undefined) throw headerMismatch('the Mcp-Name header is required')
  if (decodeName(header) !== expected) {
    throw headerMismatch(`the Mcp-Name header does not match params.${source}`)
  }
}

/** Throws what is wrong first, in the order in which the official server looks. */
export const checkEnvelope = (request: RpcRequest, headers: McpHeaders): void => {
  const fault = envelopeFault(request.params)
  if (fault !== undefined) {
    throw badRequest(rpcCodes.invalid_params, `Invalid _meta envelope: ${fault}`)
  }
  const version = claimedVersion(request.params) ?? ''
  if (headers.version !== undefined && headers.version !== version) {
    throw headerMismatch('MCP-Protocol-Version does not match the version in _meta')
  }
  if (headers.method !== undefined && headers.method !== request.method) {
    throw headerMismatch('Mcp-Method does not match the method of the body')
  }
  if (version !== MODERN_VERSION) throw unsupportedVersion(version)
  if (headers.version === undefined) {
    throw headerMismatch('the MCP-Protocol-Version header is required')
  }
  if (headers.method === undefined) throw headerMismatch('the Mcp-Method header is required')
  checkName(request, headers.name)
}
