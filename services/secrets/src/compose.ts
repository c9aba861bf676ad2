import { type Bus, createKv, publish, serveOperations } from '@guildhall/bus'
import { AgentRecord, buckets, StandingRecord, TaskRecord, WorkRecord } from '@guildhall/contracts'
import { canQuery, type Db, isMigrated, outboxRelay } from '@guildhall/db'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { z } from 'zod'
import { resolveFrom } from './brokered/addresses.ts'
import { requireApproval } from './brokered/require-approval.ts'
import { checkKeys } from './check-keys.ts'
import type { SecretsConfig } from './config.ts'
import { onApproval } from './consumers/on-approval.ts'
import type { CallSettings, Deps } from './deps.ts'
import { createVault } from './envelope.ts'
import { migrations } from './migrations/index.ts'
import { operationsOf } from './operations/index.ts'
import { forgetOld } from './reconcilers/forget-old.ts'

interface Foundation {
  readonly bus: Bus
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

const Payload = z.record(z.string(), z.unknown())

const callSettings = (config: SecretsConfig): CallSettings => ({
  resolve: resolveFrom(config.SECRETS_STATIC_HOSTS),
  extra_ports: config.SECRETS_EXTRA_PORTS,
  allowed_addresses: config.SECRETS_ALLOWED_ADDRESSES,
  extra_ca: config.SECRETS_EXTRA_CA,
  timeout_ms: config.SECRETS_CALL_TIMEOUT_MS,
})

/** The whole service, as parts in the order in which they start. Tests may ask another resolver. */
export const composeSecrets = (
  config: SecretsConfig,
  { bus, db, clock, log }: Foundation,
  overrides: Partial<Pick<CallSettings, 'resolve'>> = {},
) => {
  const relay = outboxRelay({
    db,
    log,
    clock,
    publish: async ({ subject, payload, event_id }) => {
      await publish(bus, subject, Payload.parse(payload), { msg_id: event_id })
    },
  })
  const deps: Deps = {
    bus,
    db,
    clock,
    log,
    relay,
    vault: createVault(config.VAULT_MASTER_KEYS),
    agents: createKv(bus, buckets.agents, AgentRecord),
    tasks: createKv(bus, buckets.goals, TaskRecord),
    work: createKv(bus, buckets.work, WorkRecord),
    standing: createKv(bus, buckets.standing, StandingRecord),
    calls: { ...callSettings(config), ...overrides },
    requireApproval,
  }
  const parts: Part[] = [
    checkKeys(deps),
    relay,
    forgetOld(deps),
    onApproval(deps),
    serveOperations(bus, operationsOf(deps), { log }),
  ]
  const ready = async (): Promise<Record<string, boolean>> => ({
    database: await canQuery(db),
    schema: await isMigrated(db, migrations),
    bus: bus.connected(),
  })
  return { deps, parts, ready }
}
