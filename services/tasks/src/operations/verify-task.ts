import type { CallContext, Handler } from '@guildhall/bus'
import {
  holderName,
  type InputOf,
  namedError,
  type OutputOf,
  ServiceError,
  type verifyTask,
} from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { whyNotPeer } from '../peer.ts'
import { findTask, type TaskRow } from '../store/tasks.ts'
import { taskNotFound } from '../task-claiming.ts'
import { taskStatus } from '../task-item.ts'
import { giveVerdict, loadTask } from '../verdict.ts'

type Input = InputOf<typeof verifyTask>

/** A record that was restored has another revision; somebody else's verdict ends the loop. */
const TRIES = 4

const notAwaiting = (task_id: number, status: string): ServiceError =>
  namedError('ErrTaskNotAwaitingVerification', `task ${task_id} is ${status}`)

const notPermitted = (message: string): ServiceError =>
  namedError('ErrNotPermittedVerifier', message)

/** An agent judges what it was named for; the owner may always judge. */
const requireVerifier = (
  { principal }: CallContext,
  { task_id, verifier_config }: TaskRow,
): void => {
  if (principal.kind === 'human') return
  if (verifier_config.kind !== 'peer') {
    throw namedError('ErrVerifierNotConfigured', `task ${task_id} has no peer verifier`)
  }
  if (verifier_config.agent_id !== principal.agent_id) {
    throw notPermitted(`task ${task_id} is verified by another agent`)
  }
}

const decide = async (
  tasks: Tasks,
  ctx: CallContext,
  task: TaskRow,
  input: Input,
): Promise<OutputOf<typeof verifyTask>> => {
  const { principal } = ctx
  const by = holderName(principal)
  const approved = input.verdict === 'approve'
  const reason = input.reason?.replaceAll('\u0000', '') ?? null
  for (let tried = 0; tried < TRIES; tried += 1) {
    const entry = await loadTask(tasks, task.owner_user_id, task.task_id)
    if (entry === undefined) throw notAwaiting(task.task_id, task.status)
    const { record } = entry
    const given = record.task.verdict
    // Only the bus repeats a call that nobody answered: then this was its own first try.
    if (ctx.repeat && given?.by === by && given.approved === approved) {
      return { task_id: task.task_id, new_status: taskStatus(record) }
    }
    if (record.state !== 'awaiting_verification') {
      throw notAwaiting(task.task_id, taskStatus(record))
    }
    if (principal.kind === 'agent') {
      const problem = await whyNotPeer(tasks, record, principal.agent_id)
      if (problem !== undefined) throw notPermitted(`this agent ${problem}`)
    }
    const next = await giveVerdict(tasks, entry, { by, approved, timed_out: false, reason })
    if (next !== undefined) return { task_id: task.task_id, new_status: taskStatus(next) }
  }
  throw new ServiceError('unavailable', 'this task changes too fast right now')
}

export const handleVerifyTask =
  (tasks: Tasks): Handler<typeof verifyTask> =>
  async (ctx, input) => {
    const key = { owner_user_id: ctx.principal.user_id, task_id: input.task_id }
    const task = await findTask(tasks.db, key)
    if (task === undefined) throw taskNotFound(input.task_id)
    requireVerifier(ctx, task)
    const answer = await decide(tasks, ctx, task, input)
    await tasks.settle()
    return answer
  }
