/**
 * Against DNS rebinding: a browser that was lured to a name which resolves to us sends that name as
 * Host, and the page's origin as Origin. Programs send no Origin and pass.
 */

export interface Perimeter {
  readonly allowed_hosts: ReadonlySet<string>
  readonly allowed_origins: ReadonlySet<string>
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

interface PerimeterSettings {
  readonly public_url: string
  /** Beside loopback and the host of the public URL; with a port, only that port. */
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
}

export const createPerimeter = ({ public_url, hosts, origins }: PerimeterSettings): Perimeter => {
  const url = new URL(public_url)
  return {
    allowed_hosts: new Set([...LOOPBACK, url.hostname, ...hosts].map((host) => host.toLowerCase())),
    allowed_origins: new Set([url.origin, ...origins.map((origin) => origin.toLowerCase())]),
  }
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/

export const isHostAllowed = (
  { allowed_hosts }: Perimeter,
  header: string | undefined,
): boolean => {
  const host = header?.toLowerCase() ?? ''
  const name = HOST.exec(host)?.[1]
  return name !== undefined && (allowed_hosts.has(name) || allowed_hosts.has(host))
}

/** The origin of a page that we served ourselves is fine: its host has passed as Host already. */
export const isOriginAllowed = (
  { allowed_origins }: Perimeter,
  origin: string | undefined,
  host: string | undefined,
): boolean => {
  if (origin === undefined) return true
  const lower = origin.toLowerCase()
  if (allowed_origins.has(lower)) return true
  const own = host?.toLowerCase()
  return own !== undefined && (lower === `http://${own}` || lower === `https://${own}`)
}

/** Headers that steer a decision: two of one kind would be read differently by a proxy and by us. */
const SINGLE = new Set([
  'authorization',
  'content-type',
  'content-length',
  'host',
  'origin',
  'cookie',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'x-csrf-token',
])

export const repeatedHeader = (raw_headers: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  for (let i = 0; i < raw_headers.length; i += 2) {
    const name = raw_headers[i]?.toLowerCase() ?? ''
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}
