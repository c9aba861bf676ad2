import t from 'tap'
import { classify } from '../src/protocol/classify.ts'
import { RpcError } from '../src/protocol/json-rpc.ts'
import type { McpHeaders } from '../src/protocol/modern-envelope.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const envelope = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }
const none: McpHeaders = { version: undefined, method: undefined, name: undefined }
const headers = (fields: Partial<McpHeaders>): McpHeaders => ({ ...none, ...fields })
const modern = headers({ version: '2026-07-28', method: 'tools/call', name: 'claim' })
const call = (params: object = {}, method = 'tools/call') => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { name: 'claim', ...params },
})
const modernCall = (meta: object = envelope) => call({ _meta: meta })
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

const outcome = (body: unknown, given: McpHeaders): unknown => {
  try {
    const route = classify(body, given)
    return 'batch' in route ? 'legacy batch' : `${route.era} ${route.message.kind}`
  } catch (error) {
    return error instanceof RpcError ? [error.status, error.code] : error
  }
}

const cases: readonly [string, unknown, McpHeaders, unknown][] = [
  // What is served, and in which era.
  ['no header and no envelope', call(), none, 'legacy request'],
  [
    'each older version in the header',
    call(),
    headers({ version: '2025-11-25' }),
    'legacy request',
  ],
  [
    'an unknown session id changes nothing',
    call(),
    headers({ version: '2025-06-18' }),
    'legacy request',
  ],
  ['initialize', call({}, 'initialize'), none, 'legacy request'],
  ['envelope and headers', modernCall(), modern, 'modern request'],
  ['a name in base64', modernCall(), { ...modern, name: base64('claim') }, 'modern request'],
  ['a notification', { jsonrpc: '2.0', method: 'n' }, none, 'legacy notification'],
  [
    'a modern notification',
    { jsonrpc: '2.0', method: 'n' },
    headers({ version: '2026-07-28' }),
    'modern notification',
  ],
  ['a response', { jsonrpc: '2.0', id: 4, result: {} }, none, 'legacy response'],
  [
    'a batch of the one revision that had them',
    [call()],
    headers({ version: '2025-03-26' }),
    'legacy batch',
  ],
  ['a batch without a header', [call(), { jsonrpc: '2.0', method: 'n' }], none, 'legacy batch'],
  ['only a progress token in _meta', call({ _meta: { progressToken: 1 } }), none, 'legacy request'],
  // What is refused, with the status and the code of the specification.
  ['an unknown older version', call(), headers({ version: '2024-11-05' }), [400, -32_022]],
  [
    'an unknown newer version in the envelope',
    modernCall({ ...envelope, [VERSION]: '2027-01-01' }),
    headers({ version: '2027-01-01', method: 'tools/call', name: 'claim' }),
    [400, -32_022],
  ],
  [
    'an older version in the envelope',
    modernCall({ ...envelope, [VERSION]: '2025-11-25' }),
    headers({ version: '2025-11-25' }),
    [400, -32_022],
  ],
  ['a modern header without an envelope', call(), modern, [400, -32_602]],
  [
    'an envelope without capabilities',
    modernCall({ [VERSION]: '2026-07-28' }),
    modern,
    [400, -32_602],
  ],
  [
    'an envelope whose version is a number',
    modernCall({ ...envelope, [VERSION]: 1 }),
    modern,
    [400, -32_602],
  ],
  [
    'header and envelope disagree',
    modernCall(),
    { ...modern, version: '2025-11-25' },
    [400, -32_020],
  ],
  ['no version header', modernCall(), { ...modern, version: undefined }, [400, -32_020]],
  ['no Mcp-Method', modernCall(), { ...modern, method: undefined }, [400, -32_020]],
  ['another Mcp-Method', modernCall(), { ...modern, method: 'tools/list' }, [400, -32_020]],
  ['no Mcp-Name', modernCall(), { ...modern, name: undefined }, [400, -32_020]],
  ['another Mcp-Name', modernCall(), { ...modern, name: 'release' }, [400, -32_020]],
  ['Mcp-Name in broken base64', modernCall(), { ...modern, name: '=?base64?!?=' }, [400, -32_020]],
  [
    'Mcp-Name in base64 of no UTF-8',
    modernCall(),
    { ...modern, name: '=?base64?/w==?=' },
    [400, -32_020],
  ],
  [
    'initialize under a modern header',
    call({}, 'initialize'),
    headers({ version: '2026-07-28' }),
    [400, -32_020],
  ],
  [
    'a response under a modern header',
    { jsonrpc: '2.0', id: 4, result: {} },
    headers({ version: '2026-07-28' }),
    [400, -32_600],
  ],
  ['an empty batch', [], none, [400, -32_600]],
  ['a batch of a later revision', [call()], headers({ version: '2025-06-18' }), [400, -32_600]],
  ['a batch that is too long', Array.from({ length: 33 }, () => call()), none, [400, -32_600]],
  ['initialize in a batch', [call({}, 'initialize')], none, [400, -32_600]],
  ['a modern request in a batch', [modernCall()], none, [400, -32_600]],
  ['no JSON-RPC version', { id: 1, method: 'ping' }, none, [400, -32_600]],
  ['id null', { jsonrpc: '2.0', id: null, method: 'ping' }, none, [400, -32_600]],
  ['a fractional id', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, none, [400, -32_600]],
  [
    'params in an array',
    { jsonrpc: '2.0', id: 1, method: 'ping', params: [] },
    none,
    [400, -32_600],
  ],
  ['a number', 7, none, [400, -32_600]],
  ['null', null, none, [400, -32_600]],
  ['text', 'tools/list', none, [400, -32_600]],
]

t.test('a POST belongs to one era, or is refused with the code of the specification', (t) => {
  for (const [name, body, given, expected] of cases) {
    t.strictSame(outcome(body, given), expected, name)
  }
  t.end()
})
