// Runs a program of some services, one after the other, against the system that `make up` started.
import { existsSync } from 'node:fs'
import { loadKeys } from './keys.ts'
import { NATS_USERS } from './nats-permissions.ts'
import { readOptions } from './options.ts'
import { portsFrom } from './ports.ts'
import { runEntry } from './run-entry.ts'
import { publicUrls, serviceEnvironment } from './service-environment.ts'

interface OneShot {
  /** As in "Nothing to reconcile". */
  verb: string
  services: readonly string[]
  entryOf: (service: string) => string
}

/** Prints the last line of each; when one fails, so does this process. */
export const runOneShot = async ({ verb, services: names, entryOf }: OneShot): Promise<void> => {
  const { layout, services, portBase } = readOptions(process.argv.slice(2), process.env)
  if (!existsSync(layout.keysFile)) {
    console.error(`Nothing to ${verb}: this system never ran. Start it with: make up`)
    process.exit(1)
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
      const lines = await runEntry(layout.root, entryOf(service.name), env)
      console.log(`${service.name}: ${lines.at(-1) ?? 'done'}`)
    } catch (error) {
      console.error(error instanceof Error ? error.message : error)
      process.exitCode = 1
    }
  }
}
