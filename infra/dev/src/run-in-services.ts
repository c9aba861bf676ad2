// One-shot programs of services, run beside the running system with the environment of each.
import { existsSync } from 'node:fs'
import { loadKeys } from './keys.ts'
import { NATS_USERS } from './nats-permissions.ts'
import type { Options } from './options.ts'
import { portsFrom } from './ports.ts'
import { runEntry } from './run-entry.ts'
import { publicUrls, serviceEnvironment } from './service-environment.ts'

/** Hands what each program wrote to `report`; exit code 1 when one of them failed. */
export const runInServices = async (
  { layout, services, portBase }: Options,
  names: readonly string[],
  entryOf: (service: string) => string,
  report: (service: string, lines: readonly string[]) => void,
): Promise<void> => {
  if (!existsSync(layout.keysFile)) {
    console.error('Nothing is there: this system never ran. Start it with: make up')
    process.exitCode = 1
    return
  }
  const withDatabase = services.filter(({ database }) => database).map(({ name }) => name)
  const keys = loadKeys(layout, [...NATS_USERS, 'sys'], withDatabase)
  const ports = portsFrom(portBase, services)
  const servers = {
    natsUrl: process.env.NATS_URL ?? `nats://127.0.0.1:${ports.nats}`,
    databaseAdminUrl:
      process.env.DATABASE_URL ?? `postgres://postgres@127.0.0.1:${ports.postgres}/postgres`,
    keys,
    ports,
  }
  for (const service of services) {
    if (!names.includes(service.name)) continue
    const env = serviceEnvironment(service, servers, publicUrls(ports, portBase), process.env)
    try {
      report(service.name, await runEntry(layout.root, entryOf(service.name), env))
    } catch (error) {
      console.error(error instanceof Error ? error.message : error)
      process.exitCode = 1
    }
  }
}
