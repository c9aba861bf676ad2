import { type Operation, operations, routesOf, tools } from '@guildhall/contracts'
import type { Random } from './random.ts'

/** Things that no well-meaning client sends, and some that are wrong in one place only. */

const TEXTS = [
  '',
  ' ',
  'null',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  "'; drop table todos; --",
  '\u0000',
  '\ud800',
  '\u202eabc',
  '%00',
  '%ZZ',
  'x'.repeat(5_000),
  '1e999',
  'td_00000000-0000-0000-0000-000000000000',
  '*',
  '>',
  'a.b',
] as const

const NUMBERS = [0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 4_294_967_296] as const

const KEYS = [
  'id',
  'queue',
  'limit',
  'cursor',
  'lease_token',
  'idempotency_key',
  'name',
  'arguments',
  'webhook_id',
  'since',
  'title',
  'payload',
  '_meta',
  '__proto__',
  'toString',
] as const

const garbageText = (random: Random): string =>
  random.chance(0.8) ? random.pick(TEXTS) : random.bytes(random.below(40)).toString('latin1')

const garbageValue = (random: Random, depth = 0): unknown => {
  const kind = depth > 4 ? random.below(4) : random.below(6)
  if (kind === 0) return garbageText(random)
  if (kind === 1) return random.pick(NUMBERS)
  if (kind === 2) return random.pick([true, false, null])
  if (kind === 3) return random.pick(['td_x', 'inbox', '2026-02-30T00:00:00Z', 'wh_1', 50])
  const length = random.below(5)
  if (kind === 4) return Array.from({ length }, () => garbageValue(random, depth + 1))
  return garbageObject(random, depth + 1)
}

const garbageObject = (random: Random, depth = 0): Record<string, unknown> =>
  Object.fromEntries(
    Array.from({ length: random.below(6) }, () => [
      random.chance(0.8) ? random.pick(KEYS) : garbageText(random),
      garbageValue(random, depth + 1),
    ]),
  )

const METHODS = [
  'tools/call',
  'tools/list',
  'initialize',
  'ping',
  'resources/read',
  'resources/list',
  'resources/subscribe',
  'server/discover',
  'notifications/initialized',
  'notifications/cancelled',
  'prompts/list',
  'toString',
] as const

const rpcParams = (random: Random, method: string): unknown => {
  if (random.chance(0.2)) return garbageValue(random)
  if (method === 'tools/call') {
    const tool = tools[random.below(tools.length)]?.name
    return {
      name: random.chance(0.9) ? tool : garbageValue(random),
      arguments: random.chance(0.9) ? garbageObject(random) : garbageValue(random),
    }
  }
  if (method === 'resources/read') return { uri: `guildhall://queues/${garbageText(random)}` }
  return garbageObject(random)
}

const garbageRpc = (random: Random): unknown => {
  const method = random.pick(METHODS)
  const message = {
    jsonrpc: random.chance(0.9) ? '2.0' : garbageValue(random),
    ...(random.chance(0.9) ? { id: random.pick([1, 'a', 0, -1, null, 1.5, '']) } : {}),
    method: random.chance(0.95) ? method : garbageValue(random),
    ...(random.chance(0.9) ? { params: rpcParams(random, method) } : {}),
  }
  if (random.chance(0.05)) return Array.from({ length: random.below(40) }, () => message)
  return random.chance(0.05) ? garbageValue(random) : message
}

/** JSON that is deep, long, cut off, not UTF-8 or no JSON; or a value as it is. */
const garbageBody = (random: Random, value: unknown): Buffer => {
  const text = JSON.stringify(value) ?? ''
  switch (random.below(14)) {
    case 0:
      return Buffer.from('['.repeat(20_000))
    case 1:
      return Buffer.from(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)
    case 2:
      return Buffer.concat([
        Buffer.from('{"a":"'),
        Buffer.from([0xc3, 0x28, 0xff]),
        Buffer.from('"}'),
      ])
    case 3:
      return Buffer.from(text.slice(0, random.below(text.length + 1)))
    case 4:
      return random.bytes(random.below(300))
    case 5:
      return Buffer.from(`\ufeff${text}`)
    case 6:
      return Buffer.from(text, 'utf16le')
    case 7:
      return Buffer.from(JSON.stringify({ a: 'x'.repeat(200_000) }))
    default:
      return Buffer.from(text)
  }
}

export interface GarbageRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/json\t;;',
  '',
] as const

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)

const garbageHeaders = (random: Random): Record<string, string> => ({
  'content-type': random.chance(0.9) ? 'application/json' : random.pick(CONTENT_TYPES),
  accept: random.chance(0.8)
    ? 'application/json, text/event-stream'
    : random.pick(['*/*', 'text/html', '', ';;q=x']),
  ...(random.chance(0.15)
    ? { 'mcp-protocol-version': random.pick(['2026-07-28', '2025-06-18', '1999-01-01', 'x', '']) }
    : {}),
  ...(random.chance(0.1) ? { 'mcp-method': printable(garbageText(random)) } : {}),
  ...(random.chance(0.1) ? { 'mcp-name': '=?base64?////?=' } : {}),
  ...(random.chance(0.1) ? { 'mcp-session-id': printable(garbageText(random)) } : {}),
  ...(random.chance(0.1) ? { cookie: `guildhall=${printable(garbageText(random))}; =;;` } : {}),
  ...(random.chance(0.1) ? { 'idempotency-key': printable(garbageText(random)) } : {}),
  ...(random.chance(0.1) ? { 'x-forwarded-for': printable(garbageText(random)) } : {}),
  ...(random.chance(0.1) ? { traceparent: printable(garbageText(random)) } : {}),
})

export const garbageMcp = (random: Random, token: string): GarbageRequest => ({
  method: random.chance(0.95) ? 'POST' : random.pick(['PUT', 'DELETE', 'PATCH', 'OPTIONS']),
  path: '/mcp',
  headers: {
    ...garbageHeaders(random),
    authorization: random.chance(0.95) ? `Bearer ${token}` : printable(garbageText(random)),
  },
  body: garbageBody(random, garbageRpc(random)),
})

const routes = operations.flatMap((op: Operation) => routesOf(op))

export const garbageApi = (random: Random, token: string): GarbageRequest => {
  const route = routes[random.below(routes.length)]
  const { method, path } =
    route === undefined || random.chance(0.1) ? { method: 'POST', path: '/api/login' } : route
  const filled = path.replace(/\{[a-z_]+\}/g, () =>
    encodeURIComponent(printable(garbageText(random))),
  )
  const reads = method === 'GET' || method === 'DELETE'
  const query = Object.entries(garbageObject(random)).map(([name, value]): [string, string] => [
    name,
    `${JSON.stringify(value)}`,
  ])
  return {
    method,
    path: reads && random.chance(0.7) ? `${filled}?${new URLSearchParams(query)}` : filled,
    headers: { ...garbageHeaders(random), authorization: `Bearer ${token}` },
    body: reads ? undefined : garbageBody(random, garbageObject(random)),
  }
}

export const garbageDelivery = (random: Random, path: string): GarbageRequest => ({
  method: random.chance(0.95) ? 'POST' : random.pick(['PUT', 'DELETE', 'PATCH']),
  path: random.chance(0.7)
    ? path
    : `/webhooks/w/${encodeURIComponent(printable(garbageText(random)))}`,
  headers: {
    ...garbageHeaders(random),
    ...(random.chance(0.5) ? { 'x-github-event': printable(garbageText(random)) } : {}),
    ...(random.chance(0.5) ? { 'x-delivery-id': printable(garbageText(random)) } : {}),
    ...(random.chance(0.3) ? { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } : {}),
  },
  body: garbageBody(random, garbageValue(random)),
})
