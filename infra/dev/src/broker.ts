import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  knowsSyncAlways,
  type ManagedProcess,
  natsBinary,
  spawnManaged,
  waitFor,
} from '@guildhall/testing'
import type { Unit } from './keep-running.ts'
import type { Layout } from './layout.ts'
import { NATS_USERS, permissionsOf } from './nats-permissions.ts'

// Runs from infra/dev/dist/src.
const TEMPLATE = fileURLToPath(new URL('../../../nats/dev.conf', import.meta.url))
const START_TIMEOUT_MS = 60_000

// An answer goes to the inbox of whoever asked, which no fixed permission names. One per request,
// and no call of ours waits longer than this.
const ALLOW_RESPONSES = 'allow_responses: { max: 1, expires: "2m" }'

export interface BrokerSettings {
  version: string
  port: number
  monitorPort: number
  storeDir: string
  /** By user. */
  passwords: Readonly<Record<string, string>>
}

const list = (subjects: readonly string[]): string =>
  `[\n${subjects.map((subject) => `            ${JSON.stringify(subject)}`).join('\n')}\n          ]`

const userBlock = (user: string, password: string): string => {
  const { publish, deny, subscribe } = permissionsOf(user)
  const denied = deny.length === 0 ? '' : `, deny: ${list(deny)}`
  return [
    `      { user: "${user}", password: "${password}", permissions: {`,
    `          publish: { allow: ${list(publish)}${denied} }`,
    `          subscribe: { allow: ${list(subscribe)} }`,
    `          ${ALLOW_RESPONSES}`,
    '      } }',
  ].join('\n')
}

const requirePassword = (passwords: BrokerSettings['passwords'], user: string): string => {
  const password = passwords[user]
  if (password === undefined) throw new Error(`no password for the NATS user ${user}`)
  return password
}

/** The text of nats.conf. */
export const brokerConfig = (settings: BrokerSettings): string => {
  const { passwords } = settings
  const values: Record<string, string> = {
    PORT: `${settings.port}`,
    MONITOR_PORT: `${settings.monitorPort}`,
    STORE_DIR: settings.storeDir,
    SYNC_INTERVAL: knowsSyncAlways(settings.version) ? 'sync_interval: always' : '',
    USERS: NATS_USERS.map((user) => userBlock(user, requirePassword(passwords, user))).join('\n'),
    SYS_PASSWORD: requirePassword(passwords, 'sys'),
  }
  return readFileSync(TEMPLATE, 'utf8').replace(/@([A-Z_]+)@/g, (placeholder, name: string) => {
    return values[name] ?? placeholder
  })
}

interface Broker extends Unit {
  version: string
}

const waitUntilHealthy = async (server: ManagedProcess, monitorPort: number): Promise<void> => {
  const isHealthy = async () =>
    !server.running || (await fetch(`http://127.0.0.1:${monitorPort}/healthz`)).ok
  try {
    await waitFor(isHealthy, { timeout_ms: START_TIMEOUT_MS, what: 'nats-server to be healthy' })
  } catch (error) {
    await server.kill()
    throw error
  }
}

/** nats-server on var/nats, with one user per service. */
export const brokerUnit = async (
  layout: Layout,
  ports: { nats: number; natsMonitor: number },
  passwords: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<Broker> => {
  const { path, version } = await natsBinary('newest')
  const confFile = join(layout.natsDir, 'nats.conf')
  const start = async () => {
    mkdirSync(layout.natsDir, { recursive: true })
    const storeDir = join(layout.natsDir, 'store')
    const { nats: port, natsMonitor: monitorPort } = ports
    const text = brokerConfig({ version, port, monitorPort, storeDir, passwords })
    writeFileSync(confFile, text, { mode: 0o600 })
    const args = ['-c', confFile]
    const server = spawnManaged({
      name: 'nats-server',
      command: path,
      args,
      deathSignal: 'SIGTERM',
      onLine,
    })
    await waitUntilHealthy(server, monitorPort)
    if (!server.running) throw new Error(`nats-server ended at its start:\n${server.logs()}`)
    return server
  }
  return { name: 'nats-server', version, start }
}
