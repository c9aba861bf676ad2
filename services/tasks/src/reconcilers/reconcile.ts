import { scanKv } from '@guildhall/bus'
import { buckets, WorkRecord } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { restoreMessage } from '../restore-message.ts'
import { project } from '../store/projection.ts'
import { listProjected, projectedRevision } from '../store/todos.ts'
import { isTask } from '../task-item.ts'
import { isFinished } from '../work-item.ts'
import { type ReconciledGoals, reconcileGoals } from './reconcile-goals.ts'
import { reprojectTask, restoreTaskRecords } from './reconcile-tasks.ts'

/**
 * Brings the three places of an item together again after one of them was lost or restored from a
 * backup. The record has the authority where it exists; where the bucket lost it, the projection
 * gives it back, as pending: a lease that nobody can look up is no lease. Idempotent, safe beside
 * running replicas.
 */

interface Reconciled extends ReconciledGoals {
  checked: number
  /** Records that the bucket had lost. */
  records_restored: number
  /** Messages that the work stream had lost. */
  messages_restored: number
  /** Rows of the projection that were behind. */
  reprojected: number
  /** Items whose payload is nowhere: never acknowledged to their creator, or beyond repair. */
  without_payload: number
}

const PAGE = 500

const asPending = (record: WorkRecord, now: number): WorkRecord => {
  const {
    holder: _holder,
    holder_endpoint_id: _endpoint,
    lease_until: _until,
    lease_token_hash: _token,
    claim_key_hash: _key,
    require_fence: _fence,
    open_attempt: _open,
    next_retry_at: _retry,
    ack_subject: _ack,
    ...rest
  } = record
  return { ...rest, state: 'pending', claimable_at: now, updated_at: now }
}

const asLost = (record: WorkRecord, now: number): WorkRecord =>
  record.state === 'awaiting_verification' || isFinished(record) ? record : asPending(record, now)

const restoreRecords = async (tasks: Tasks, report: Reconciled): Promise<void> => {
  let after = ''
  for (;;) {
    const page = await listProjected(tasks.db, after, PAGE)
    for (const { record } of page) {
      after = record.id
      if ((await tasks.records.loadFresh(record.owner_id, record.id)) !== undefined) continue
      const lost = asLost(record, tasks.clock.now())
      if ((await tasks.records.create(lost)) !== undefined) report.records_restored += 1
    }
    if (page.length < PAGE) return
  }
}

export const reconcileOnce = async (tasks: Tasks): Promise<Reconciled> => {
  const report: Reconciled = {
    checked: 0,
    records_restored: 0,
    messages_restored: 0,
    reprojected: 0,
    without_payload: 0,
    goals_projected: 0,
    claim_records_restored: 0,
    claim_records_cancelled: 0,
    holds_released: 0,
  }
  await restoreRecords(tasks, report)
  report.records_restored += await restoreTaskRecords(tasks, (record) =>
    asLost(record, tasks.clock.now()),
  )
  Object.assign(report, await reconcileGoals(tasks))
  for await (const { value, revision } of scanKv(tasks.bus, buckets.work, WorkRecord)) {
    if (value === undefined) continue
    report.checked += 1
    if (isTask(value)) {
      if (await reprojectTask(tasks, { record: value, revision })) report.reprojected += 1
      continue
    }
    const message = await restoreMessage(tasks, value)
    if (message === 'restored') report.messages_restored += 1
    if (message === 'no payload') {
      report.without_payload += 1
      tasks.log.error({ todo_id: value.id }, 'item without a payload')
    }
    const projected = await projectedRevision(tasks.db, value.id)
    if (projected === undefined || projected < revision) {
      await project(tasks.db, [{ record: value, revision }])
      report.reprojected += 1
    }
  }
  return report
}
