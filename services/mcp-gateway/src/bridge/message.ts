/** What the bridge has to know of a message in order to send it. */

export type BridgeId = string | number

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const NAME_SOURCES: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

export interface Outgoing {
  /** Absent for notifications, responses and batches. */
  readonly id: BridgeId | undefined
  readonly method: string | undefined
  /** Of revision 2026-07-28 and later, which name themselves in each request. */
  readonly modern_version: string | undefined
  readonly name: string | undefined
  /** Of notifications/cancelled. */
  readonly cancels: BridgeId | undefined
}

const idOf = (value: unknown): BridgeId | undefined =>
  typeof value === 'string' || typeof value === 'number' ? value : undefined

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

export const readOutgoing = (message: unknown): Outgoing => {
  const { id, method, params } = isObject(message) ? message : ({} as Json) // a batch has neither
  const fields = isObject(params) ? params : {}
  const meta = isObject(fields._meta) ? fields._meta : {}
  const name = textOf(method)
  const source =
    name !== undefined && Object.hasOwn(NAME_SOURCES, name) ? NAME_SOURCES[name] : undefined
  return {
    id: name === undefined ? undefined : idOf(id),
    method: name,
    modern_version: textOf(meta[VERSION_KEY]),
    name: source === undefined ? undefined : textOf(fields[source]),
    cancels: name === 'notifications/cancelled' ? idOf(fields.requestId) : undefined,
  }
}

const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/** What a header cannot carry as it is goes as base64 between marks. */
const headerValue = (text: string): string =>
  PLAIN.test(text) && !text.startsWith('=?base64?')
    ? text
    : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`

export const protocolHeaders = (
  { modern_version, method, name }: Outgoing,
  negotiated: string | undefined,
): Record<string, string> => {
  if (modern_version === undefined) {
    return negotiated === undefined ? {} : { 'mcp-protocol-version': negotiated }
  }
  return {
    'mcp-protocol-version': modern_version,
    ...(method === undefined ? {} : { 'mcp-method': method }),
    ...(name === undefined ? {} : { 'mcp-name': headerValue(name) }),
  }
}

/** The revision that an answer to initialize settles on. */
export const negotiatedVersion = (answer: unknown): string | undefined => {
  const result = isObject(answer) ? answer.result : undefined
  return isObject(result) ? textOf(result.protocolVersion) : undefined
}

export const isRpcAnswer = (value: unknown): value is Json =>
  Array.isArray(value) || (isObject(value) && value.jsonrpc === '2.0')

export const failure = (id: BridgeId | null, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
})
