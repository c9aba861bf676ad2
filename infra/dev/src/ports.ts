import { isPortFree } from '@guildhall/testing'
import type { ServiceDefinition } from './services.ts'

const DEFAULT_BASE = 7300
const HIGHEST_OFFSET = 32

export interface Ports {
  nats: number
  natsMonitor: number
  postgres: number
  services: ReadonlyMap<string, { http?: number; ops: number }>
}

export const portBase = (env: NodeJS.ProcessEnv): number => {
  const text = env.GUILDHALL_PORT_BASE
  if (text === undefined || text === '') return DEFAULT_BASE
  const base = Number(text)
  if (!Number.isInteger(base) || base < 1024 || base > 65_535 - HIGHEST_OFFSET) {
    throw new Error(`GUILDHALL_PORT_BASE is "${text}": give a number from 1024 to 65500`)
  }
  return base
}

export const portsFrom = (base: number, services: readonly ServiceDefinition[]): Ports => ({
  nats: base + 22,
  natsMonitor: base + 23,
  postgres: base + HIGHEST_OFFSET,
  services: new Map(
    services.map(({ name, ports: { http, ops } }) => [
      name,
      { ops: base + ops, ...(http === undefined ? {} : { http: base + http }) },
    ]),
  ),
})

interface Listener {
  port: number
  what: string
}

/** Every port that we are going to listen on; servers that were given by URL need none. */
const listeners = (ports: Ports, own: { nats: boolean; postgres: boolean }): Listener[] => [
  ...(own.nats
    ? [
        { port: ports.nats, what: 'nats-server' },
        { port: ports.natsMonitor, what: 'nats-server, monitoring' },
      ]
    : []),
  ...(own.postgres ? [{ port: ports.postgres, what: 'PostgreSQL' }] : []),
  ...[...ports.services].flatMap(([name, { http, ops }]) => [
    ...(http === undefined ? [] : [{ port: http, what: name }]),
    { port: ops, what: `${name}, health` },
  ]),
]

/** Throws with what to do when another program has one of our ports. */
export const requireFreePorts = async (
  ports: Ports,
  own: { nats: boolean; postgres: boolean },
): Promise<void> => {
  const taken: Listener[] = []
  for (const listener of listeners(ports, own)) {
    if (!(await isPortFree(listener.port))) taken.push(listener)
  }
  if (taken.length === 0) return
  const lines = taken.map(({ port, what }) => `  127.0.0.1:${port} (for ${what})`)
  throw new Error(
    `another program already listens on:\n${lines.join('\n')}\n` +
      `See which: ss -ltnp 'sport = :${taken[0]?.port}'. Stop it, or move Guildhall to other ` +
      'ports:\n  GUILDHALL_PORT_BASE=8300 make up',
  )
}
