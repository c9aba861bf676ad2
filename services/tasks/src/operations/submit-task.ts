import type { CallContext, Entry, Handler } from '@guildhall/bus'
import {
  holderName,
  type InputOf,
  namedError,
  type OutputOf,
  type submitTask,
  taskItemId,
  type WorkRecord,
} from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { requireHolder } from '../holding.ts'
import { hashOf, matchesHash } from '../lease-token.ts'
import { findGoal } from '../store/goals.ts'
import { findTask } from '../store/tasks.ts'
import { taskNotFound } from '../task-claiming.ts'
import { followTasks } from '../task-effects.ts'
import { isTask, type TaskItem, type TaskReport, taskStatus, taskSubmitted } from '../task-item.ts'
import { cleanSummary } from '../text.ts'
import { transition } from '../transition.ts'
import { type Awaiting, loadTask } from '../verdict.ts'
import { askVerifier } from '../verification.ts'

type Input = InputOf<typeof submitTask>

const withoutNul = (text: string | undefined): string | null =>
  text === undefined ? null : text.replaceAll('\u0000', '')

const reportOf = (ctx: CallContext, input: Input): TaskReport => {
  const key = input.idempotency_key ?? ctx.idempotency_key
  const shown = cleanSummary(input.summary)
  return {
    summary: withoutNul(input.summary),
    artifact: withoutNul(input.artifact),
    tokens: input.usage?.tokens ?? 0,
    cost_minor: input.usage?.cost_minor ?? 0,
    attempt_summary: shown.summary,
    attempt_summary_truncated: shown.summary_truncated,
    key_hash: key === undefined ? undefined : hashOf(`submit_task:${key}`),
  }
}

/** The caller's own report, which it repeats since its answer was lost. */
const isRepeat = (
  ctx: CallContext,
  record: TaskItem,
  input: Input,
  key_hash: string | undefined,
): boolean => {
  if (record.task.report === undefined) return false
  const { principal } = ctx
  if (principal.kind !== 'agent' || record.task.holder_agent_id !== principal.agent_id) return false
  if (key_hash !== undefined && record.last_key_hash === key_hash) return true
  return input.lease_token === undefined
    ? record.require_fence !== true
    : matchesHash(input.lease_token, record.lease_token_hash)
}

const submit = async (tasks: Tasks, ctx: CallContext, input: Input): Promise<Awaiting> => {
  const report = reportOf(ctx, input)
  const { principal } = ctx
  const result = await transition<Entry<WorkRecord>>(
    tasks.records,
    principal.user_id,
    taskItemId(input.task_id),
    (entry) => {
      if (entry === undefined || !isTask(entry.value)) {
        throw namedError('ErrClaimExpired', 'this task is not held by you')
      }
      const { value: record } = entry
      if (isRepeat(ctx, record, input, report.key_hash)) return { answer: entry }
      if (principal.kind !== 'agent' || record.holder !== holderName(principal)) {
        throw namedError('ErrClaimExpired', 'this task is not held by you')
      }
      const now = tasks.clock.now()
      requireHolder(ctx, record, input.lease_token, now)
      const next = taskSubmitted(record, report, now)
      if (next === undefined) throw namedError('ErrClaimExpired', 'this task is not held by you')
      return { write: next }
    },
  )
  const [record, revision] =
    'answer' in result
      ? [result.answer.value, result.answer.revision]
      : [result.written.record, result.written.revision]
  if (!isTask(record)) throw new Error('what a task becomes is a task')
  return { record, revision }
}

/**
 * The compare-and-set decides. Should the database not serve then, the caller is told to come
 * again, and whatever is missing is made by its repeat or by the projection, once.
 */
export const handleSubmitTask =
  (tasks: Tasks): Handler<typeof submitTask> =>
  async (ctx, input): Promise<OutputOf<typeof submitTask>> => {
    const key = { owner_user_id: ctx.principal.user_id, task_id: input.task_id }
    const task = await findTask(tasks.db, key)
    if (task === undefined) throw taskNotFound(input.task_id)
    const submitted = await submit(tasks, ctx, input)
    await followTasks(tasks, [submitted])
    await askVerifier(tasks, key)
    const goal = await findGoal(tasks.db, task)
    const newest = await loadTask(tasks, key.owner_user_id, key.task_id)
    if (goal === undefined || newest === undefined) throw taskNotFound(input.task_id)
    await tasks.settle()
    return {
      task_id: task.task_id,
      status: taskStatus(newest.record),
      goal_status: goal.status,
      verifier: newest.record.task.verifier.kind,
    }
  }
