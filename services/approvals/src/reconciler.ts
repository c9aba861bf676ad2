import type { Db } from '@guildhall/db'
import { interval, type Logger, type Part } from '@guildhall/runtime'
import { RECONCILE_AT_ONCE, RECONCILE_INTERVAL_MS, RECONCILE_PAGE } from './limits.ts'
import {
  credentialEntry,
  endpointEntry,
  type ProjectedEntry,
  type Projection,
} from './projection.ts'
import { apiTokenRecord, apiTokensAfter } from './store/api-tokens.ts'
import { credentialRecord, credentialsAfter } from './store/credentials.ts'
import { endpointsAfter } from './store/endpoints.ts'

/**
 * Compares the whole identity bucket with PostgreSQL and writes what is missing or behind. The
 * outbox keeps the bucket current; this proves that the bucket can be lost, or restored from an old
 * copy, without anybody losing access or keeping it. Expiry needs nothing here: entries carry it.
 */
interface Page {
  readonly entries: readonly ProjectedEntry[]
  /** Where the next page begins; absent on an empty page. */
  readonly last: string | undefined
}

type ReadPage = (db: Db, after: string) => Promise<Page>

const pages = {
  endpoints: async (db, after) => {
    const rows = await endpointsAfter(db, after, RECONCILE_PAGE)
    return { entries: rows.map(endpointEntry), last: rows.at(-1)?.endpoint_id }
  },
  credentials: async (db, after) => {
    const rows = await credentialsAfter(db, after, RECONCILE_PAGE)
    return {
      entries: rows.map((row) => credentialEntry(row.credential_sha256, credentialRecord(row))),
      last: rows.at(-1)?.credential_sha256,
    }
  },
  api_tokens: async (db, after) => {
    const rows = await apiTokensAfter(db, after, RECONCILE_PAGE)
    return {
      entries: rows.map((row) => credentialEntry(row.token_sha256, apiTokenRecord(row))),
      last: rows.at(-1)?.token_id,
    }
  },
} satisfies Record<string, ReadPage>

interface Reconciled {
  readonly seen: number
  readonly written: number
}

const applyPage = async (
  projection: Projection,
  entries: readonly ProjectedEntry[],
): Promise<number> => {
  let written = 0
  for (let start = 0; start < entries.length; start += RECONCILE_AT_ONCE) {
    const some = entries.slice(start, start + RECONCILE_AT_ONCE)
    const changed = await Promise.all(some.map((entry) => projection.apply(entry)))
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
    const { entries, last } = await readPage(db, after)
    if (last === undefined) return { seen, written }
    seen += entries.length
    written += await applyPage(projection, entries)
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
