import type { Db } from '@guildhall/db'
import { interval, type Logger, type Part } from '@guildhall/runtime'
import { RECONCILE_AT_ONCE, RECONCILE_INTERVAL_MS, RECONCILE_PAGE } from './limits.ts'
import {
  credentialEntry,
  endpointEntry,
  type ProjectedEntry,
  type Projection,
} from './projection.ts'
import { agentRecord, agentsAfter } from './store/agents.ts'
import { apiTokenRecord, apiTokensAfter } from './store/api-tokens.ts'
import { credentialRecord, credentialsAfter } from './store/credentials.ts'
import { endpointsAfter } from './store/endpoints.ts'

/**
 * Compares the whole identity bucket, and that of agents, with PostgreSQL and writes what is missing or behind. The
 * outbox keeps the bucket current; this proves that the bucket can be lost, or restored from an old
 * copy, without anybody losing access or keeping it. Expiry needs nothing here: entries carry it.
 */
type Write = (projection: Projection) => Promise<boolean>

interface Page {
  /** One per entry; each tells whether the bucket changed. */
  readonly writes: readonly Write[]
  /** Where the next page begins; absent on an empty page. */
  readonly last: string | undefined
}

type ReadPage = (db: Db, after: string) => Promise<Page>

const write =
  (entry: ProjectedEntry): Write =>
  (projection) =>
    projection.apply(entry)

const pages = {
  endpoints: async (db, after) => {
    const rows = await endpointsAfter(db, after, RECONCILE_PAGE)
    return { writes: rows.map(endpointEntry).map(write), last: rows.at(-1)?.endpoint_id }
  },
  credentials: async (db, after) => {
    const rows = await credentialsAfter(db, after, RECONCILE_PAGE)
    return {
      writes: rows.map((row) =>
        write(credentialEntry(row.credential_sha256, credentialRecord(row))),
      ),
      last: rows.at(-1)?.credential_sha256,
    }
  },
  api_tokens: async (db, after) => {
    const rows = await apiTokensAfter(db, after, RECONCILE_PAGE)
    return {
      writes: rows.map((row) => write(credentialEntry(row.token_sha256, apiTokenRecord(row)))),
      last: rows.at(-1)?.token_id,
    }
  },
  agents: async (db, after) => {
    const rows = await agentsAfter(db, Number(after), RECONCILE_PAGE)
    return {
      writes: rows.map((row) => (projection) => projection.applyAgent(agentRecord(row))),
      last: rows.at(-1)?.agent_id.toString(),
    }
  },
} satisfies Record<string, ReadPage>

interface Reconciled {
  readonly seen: number
  readonly written: number
}

const applyPage = async (projection: Projection, writes: readonly Write[]): Promise<number> => {
  let written = 0
  for (let start = 0; start < writes.length; start += RECONCILE_AT_ONCE) {
    const some = writes.slice(start, start + RECONCILE_AT_ONCE)
    const changed = await Promise.all(some.map((one) => one(projection)))
    written += changed.filter(Boolean).length
  }
  return written
}

const reconcileKind = async (
  db: Db,
  projection: Projection,
  readPage: ReadPage,
): Promise<Reconciled> => {
  let after = ''
  let seen = 0
  let written = 0
  for (;;) {
    const { writes, last } = await readPage(db, after)
    if (last === undefined) return { seen, written }
    seen += writes.length
    written += await applyPage(projection, writes)
    after = last
  }
}

export const reconcileIdentity = async (
  db: Db,
  projection: Projection,
): Promise<Record<keyof typeof pages, Reconciled>> => ({
  // Endpoints first: a credential that names an endpoint which is not there is of no use.
  endpoints: await reconcileKind(db, projection, pages.endpoints),
  credentials: await reconcileKind(db, projection, pages.credentials),
  api_tokens: await reconcileKind(db, projection, pages.api_tokens),
  agents: await reconcileKind(db, projection, pages.agents),
})

/** Once at the start and then every minute. */
export const identityReconciler = (db: Db, projection: Projection, log: Logger): Part => {
  const job = interval({
    name: 'identity-reconciler',
    every_ms: RECONCILE_INTERVAL_MS,
    log,
    run: async () => {
      const reconciled = await reconcileIdentity(db, projection)
      const written = Object.values(reconciled).reduce((sum, kind) => sum + kind.written, 0)
      if (written > 0) log.info({ reconciled }, 'identity bucket brought up to date')
    },
  })
  return {
    ...job,
    start: async () => {
      await job.start()
      void job.now()
    },
  }
}
