import { ServiceError } from '@guildhall/contracts'

/** Where a call goes: read once, strictly, and never put together again from the caller's text. */

export interface Target {
  /** Lower case, international names in their ASCII form. */
  readonly host: string
  readonly port: number
  readonly path: string
  /** With its question mark; empty without one. May hold placeholders. */
  readonly query: string
}

const HTTPS_PORT = 443

const refuse = (problem: string): ServiceError =>
  new ServiceError('invalid_argument', `url: ${problem}`)

/** Parsers drop or turn these around, each in its own way. */
const AMBIGUOUS = /[^\u0021-\u007e\u0080-\u{10ffff}]|\\/u

/** As it may have been written, or as it looks once it was escaped. */
const BRACES = /\{\{|%7b%7b/i

export const parseTarget = (text: string, extra_ports: readonly number[]): Target => {
  if (AMBIGUOUS.test(text)) throw refuse('it has blanks, control characters or backslashes')
  if (!/^https:\/\//i.test(text)) throw refuse('it must begin with https://')
  if (!URL.canParse(text)) throw refuse('it cannot be read')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^https:\/\/[^/?#]*@/i.test(text)) {
    throw refuse('it must not name a user or a password')
  }
  if (BRACES.test(url.host) || BRACES.test(url.pathname)) {
    throw refuse('a placeholder may stand in the query, not in host or path')
  }
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  if (port !== HTTPS_PORT && !extra_ports.includes(port)) {
    throw new ServiceError('forbidden', `calls go to port ${HTTPS_PORT} only`)
  }
  return { host: url.hostname, port, path: url.pathname, query: url.search }
}

/** Exactly one of the list, or below a `*.` of it; the name after the `*.` itself is not below it. */
export const isListed = (host: string, hosts: readonly string[]): boolean =>
  hosts.some((pattern) =>
    pattern.startsWith('*.')
      ? host.length > pattern.length - 1 && host.endsWith(pattern.slice(1))
      : host === pattern,
  )

export const hostHeader = ({ host, port }: Target): string =>
  port === HTTPS_PORT ? host : `${host}:${port}`

/** Where an answer redirects to, or undefined where that is nothing we would follow. */
export const redirectTarget = (
  from: Target,
  location: string,
  extra_ports: readonly number[],
): Target | undefined => {
  try {
    const base = `https://${hostHeader(from)}${from.path}`
    return parseTarget(new URL(location, base).href, extra_ports)
  } catch {
    return undefined
  }
}
