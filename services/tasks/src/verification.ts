import {
  COMMAND_TIMEOUT_DEFAULT_SECONDS,
  commandRequested,
  PEER_VERIFICATION_SECONDS,
} from '@guildhall/contracts'
import { addToOutbox, transaction } from '@guildhall/db'
import type { Tasks } from './context.ts'
import { BY_AUTO, BY_REFUSAL } from './judges.ts'
import { whyNotPeer } from './peer.ts'
import { splitCommand } from './split-command.ts'
import { lockGoalIn } from './store/goals.ts'
import {
  type DueVerifier,
  lockDueVerifierIn,
  setVerifierDueIn,
  type TaskItemKey,
} from './store/task-items.ts'
import { findTask } from './store/tasks.ts'
import type { Verdict } from './task-item.ts'
import { noticeIn, type Telling } from './task-notices.ts'
import { giveVerdict } from './verdict.ts'

/**
 * Asking the verifier of a task that was handed in. One path for all: submit_task takes it at once,
 * and the sweep whenever `verify_at` has come, be it because a replica died before it asked, because
 * no answer came, or because the goal was paused meanwhile. What is asked leaves through the outbox
 * in the transaction that moves `verify_at`, so it is asked once each time.
 */

/** While a goal is not active nothing is launched for it; this is how soon that is looked at again. */
const GOAL_RECHECK_MS = 5_000
/** A command's answer may take its timeout, the start of the worker, and the way there and back. */
const COMMAND_GRACE_MS = 60_000
const COMMAND_TRIES_MAX = 3
/** An auto verdict needs nobody; it is tried again only when a write failed. */
const AUTO_RETRY_MS = 5_000

interface Asking extends Telling {
  readonly due: DueVerifier
}

/** A verdict that is certain without asking anybody, to be given after the transaction. */
type Certain = Verdict | undefined

/** Nobody will answer: the owner decides. Said once, since nobody is waited for afterwards. */
const escalateIn = async (asking: Asking, why: string): Promise<void> => {
  const { trx, due, goal, task } = asking
  await setVerifierDueIn(trx, task, undefined, due.verify_tries + 1)
  await noticeIn(asking, {
    to: { kind: 'owner' },
    body: `Task ${task.task_id} "${task.title}" of goal "${goal.title}" waits for your verdict: ${why}.`,
    metadata: { kind: 'verification' },
  })
}

const askPeerIn = async (tasks: Tasks, asking: Asking, agent_id: number): Promise<void> => {
  const { trx, due, task, now } = asking
  const { report } = due.record.task
  const submitted_at = report?.submitted_at ?? now.getTime()
  if (due.verify_tries > 0) {
    await escalateIn(asking, 'its verifier has not answered')
    return
  }
  const problem = await whyNotPeer(tasks, due.record, agent_id)
  if (problem !== undefined) {
    await escalateIn(asking, `its verifier ${problem}`)
    return
  }
  await setVerifierDueIn(trx, task, submitted_at + PEER_VERIFICATION_SECONDS * 1_000, 1)
  await noticeIn(asking, {
    to: { kind: 'agent', agent_id },
    body: [
      `Task ${task.task_id} "${task.title}" awaits your verdict: call verify_task.`,
      `Acceptance criteria: ${task.acceptance_criteria ?? 'none were given'}`,
      `Summary: ${report?.summary ?? 'none'}`,
      `Artifact: ${report?.artifact ?? 'none'}`,
    ].join('\n'),
    metadata: {
      kind: 'verification',
      acceptance_criteria: task.acceptance_criteria,
      artifact: report?.artifact ?? null,
    },
  })
}

const requestIn = async (asking: Asking, argv: string[], timeout_sec: number): Promise<void> => {
  const { trx, due, goal, task } = asking
  const payload = commandRequested.schema.parse({
    v: 1,
    user_id: goal.owner_user_id,
    goal_id: goal.goal_id,
    task_id: task.task_id,
    revision: due.revision,
    argv,
    cwd: due.record.task.verifier.cwd ?? '.',
    timeout_sec,
    env: {
      GUILDHALL_GOAL_ID: String(goal.goal_id),
      GUILDHALL_TASK_ID: String(task.task_id),
      GUILDHALL_TASK_TITLE: task.title,
      GUILDHALL_TASK_ACCEPTANCE_CRITERIA: task.acceptance_criteria ?? '',
      GUILDHALL_TASK_ARTIFACT: due.record.task.report?.artifact ?? '',
    },
  })
  await addToOutbox(trx, {
    subject: commandRequested.subject,
    key: `task.${task.task_id}`,
    payload,
    event_id: `task:${task.task_id}:${due.revision}:command:${due.verify_tries}`,
  })
}

const askCommandIn = async (asking: Asking, cmd: string): Promise<Certain> => {
  const { trx, due, task, now } = asking
  const split = splitCommand(cmd)
  if ('problem' in split) {
    await setVerifierDueIn(trx, task, now.getTime() + AUTO_RETRY_MS, due.verify_tries)
    const reason = `the command cannot be run: ${split.problem}`
    return { by: BY_REFUSAL, approved: false, timed_out: false, reason }
  }
  if (due.verify_tries >= COMMAND_TRIES_MAX) {
    await escalateIn(
      asking,
      `its command was asked for ${COMMAND_TRIES_MAX} times without an answer`,
    )
    return undefined
  }
  const timeout_sec = due.record.task.verifier.timeout_sec ?? COMMAND_TIMEOUT_DEFAULT_SECONDS
  const look_again = now.getTime() + timeout_sec * 1_000 + COMMAND_GRACE_MS
  await setVerifierDueIn(trx, task, look_again, due.verify_tries + 1)
  await requestIn(asking, split.argv, timeout_sec)
  return undefined
}

const askIn = async (tasks: Tasks, asking: Asking): Promise<Certain> => {
  const { trx, due, goal, task, now } = asking
  const { verifier } = due.record.task
  if (verifier.kind === 'auto') {
    await setVerifierDueIn(trx, task, now.getTime() + AUTO_RETRY_MS, due.verify_tries)
    return { by: BY_AUTO, approved: true, timed_out: false, reason: null }
  }
  // What was asked already is waited for; a goal that is not active only asks for nothing new.
  if (goal.status !== 'active') {
    await setVerifierDueIn(trx, task, now.getTime() + GOAL_RECHECK_MS, due.verify_tries)
    return undefined
  }
  if (verifier.kind === 'command') return await askCommandIn(asking, verifier.cmd ?? '')
  await askPeerIn(tasks, asking, verifier.agent_id ?? 0)
  return undefined
}

/** Asks if it is due, and only then: a repeat, or another replica, changes nothing. */
export const askVerifier = async (tasks: Tasks, key: TaskItemKey): Promise<void> => {
  const now = tasks.clock.now()
  const certain = await transaction(tasks.db, async (trx) => {
    const task = await findTask(trx, key)
    if (task === undefined) return undefined
    const goal = await lockGoalIn(trx, task)
    const due = await lockDueVerifierIn(trx, key, now)
    if (goal === undefined || due === undefined) return undefined
    const verdict = await askIn(tasks, { trx, due, goal, task, now: new Date(now) })
    return verdict === undefined ? undefined : { due, verdict }
  })
  if (certain !== undefined) await giveVerdict(tasks, certain.due, certain.verdict)
}
