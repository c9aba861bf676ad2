import { scanKv } from '@guildhall/bus'
import { AgentRecord, buckets } from '@guildhall/contracts'
import { interval, type Part } from '@guildhall/runtime'
import type { Deps } from '../deps.ts'
import { RECONCILE_AT_ONCE, RECONCILE_INTERVAL_MS, RECONCILE_PAGE } from '../limits.ts'
import { standingRecord } from '../projection.ts'
import { upsertAgents } from '../store/agents.ts'
import { type StandingRow, standingsAfter } from '../store/standing.ts'

/**
 * Compares the bucket of standings with PostgreSQL and writes what is missing or behind; and the
 * agents that are known here with the bucket of those, for events that never came. The outbox and
 * the consumers keep both current; this proves that either copy can be lost.
 */
export interface Reconciled {
  readonly seen: number
  readonly written: number
}

type Foundations = Pick<Deps, 'bus' | 'db' | 'projection'>

const applyPage = async (
  { projection }: Foundations,
  rows: readonly StandingRow[],
): Promise<number> => {
  let written = 0
  for (let start = 0; start < rows.length; start += RECONCILE_AT_ONCE) {
    const some = rows.slice(start, start + RECONCILE_AT_ONCE)
    const changed = await Promise.all(some.map((row) => projection.apply(standingRecord(row))))
    written += changed.filter(Boolean).length
  }
  return written
}

const reconcileStandings = async (deps: Foundations): Promise<Reconciled> => {
  let after = { user_id: 0, agent_id: 0 }
  let seen = 0
  let written = 0
  for (;;) {
    const rows = await standingsAfter(deps.db, after, RECONCILE_PAGE)
    const last = rows.at(-1)
    if (last === undefined) return { seen, written }
    seen += rows.length
    written += await applyPage(deps, rows)
    after = last
  }
}

const reconcileAgents = async ({ bus, db }: Foundations): Promise<Reconciled> => {
  let seen = 0
  let written = 0
  let page: AgentRecord[] = []
  const writePage = async () => {
    seen += page.length
    if (page.length > 0) written += await upsertAgents(db, page)
    page = []
  }
  for await (const { value } of scanKv(bus, buckets.agents, AgentRecord)) {
    if (value !== undefined) page.push(value)
    if (page.length >= RECONCILE_PAGE) await writePage()
  }
  await writePage()
  return { seen, written }
}

export const reconcileOnce = async (
  deps: Foundations,
): Promise<{ standings: Reconciled; agents: Reconciled }> => ({
  standings: await reconcileStandings(deps),
  agents: await reconcileAgents(deps),
})

/** Once at the start and then every minute. */
export const reconciler = (deps: Deps): Part => {
  const job = interval({
    name: 'reconciler',
    every_ms: RECONCILE_INTERVAL_MS,
    log: deps.log,
    run: async () => {
      const reconciled = await reconcileOnce(deps)
      const { standings, agents } = reconciled
      if (standings.written + agents.written > 0)
        deps.log.info({ reconciled }, 'brought up to date')
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
