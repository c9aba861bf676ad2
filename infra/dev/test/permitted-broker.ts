import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, natsBinary, spawnManaged, temporaryDirectory, waitFor } from '@guildhall/testing'
import { connect, type NatsConnection } from 'nats'
import type { Test } from 'tap'
import { type BrokerSettings, brokerConfig } from '../src/broker.ts'
import { inboxPrefix, NATS_USERS } from '../src/nats-permissions.ts'

// A nats-server with the permissions of every service, and nothing behind it.

const passwords = Object.fromEntries([...NATS_USERS, 'sys'].map((user) => [user, `${user}-secret`]))

export const brokerSettings = async (version: string): Promise<BrokerSettings> => ({
  version,
  port: await freePort(),
  monitorPort: await freePort(),
  storeDir: join(temporaryDirectory('nats-store'), 'store'),
  passwords,
})

export const writeConfig = (text: string): string => {
  const file = join(temporaryDirectory('nats-conf'), 'nats.conf')
  writeFileSync(file, text)
  return file
}

/** The server refuses asynchronously: the error comes as a status of the connection. */
const refusals = (nc: NatsConnection): string[] => {
  const seen: string[] = []
  void (async () => {
    for await (const status of nc.status()) seen.push(JSON.stringify(status))
  })()
  return seen
}

const isRefused = async (nc: NatsConnection, act: () => void): Promise<boolean> => {
  const seen = refusals(nc)
  act()
  await nc.flush()
  return waitFor(() => seen.some((text) => /permissions.?violation/i.test(text)), {
    timeout_ms: 500,
    what: 'a refusal',
  }).catch(() => false)
}

interface PermittedBroker {
  url: string
  /** A connection of that user. */
  as(user: string): Promise<NatsConnection>
  /** Whether the server refuses what `act` does. */
  isRefused(nc: NatsConnection, act: () => void): Promise<boolean>
}

export const startPermittedBroker = async (t: Test): Promise<PermittedBroker> => {
  const { path, version } = await natsBinary('newest')
  const settings = await brokerSettings(version)
  const args = ['-c', writeConfig(brokerConfig(settings))]
  const server = spawnManaged({ name: 'nats-server', command: path, args })
  const url = `nats://127.0.0.1:${settings.port}`
  const open: NatsConnection[] = []
  t.teardown(async () => {
    for (const nc of open) await nc.close()
    await server.stop()
  })
  const as = async (user: string): Promise<NatsConnection> => {
    const options = { user, pass: passwords[user]!, inboxPrefix: inboxPrefix(user) }
    const nc = await waitFor(() => connect({ servers: url, reconnect: false, ...options }), {
      what: `a connection of ${user}`,
    })
    open.push(nc)
    return nc
  }
  return { url, as, isRefused }
}
