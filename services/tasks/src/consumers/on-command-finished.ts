import { consume, decode, durables } from '@guildhall/bus'
import { type CommandFinished, commandFinished, streams } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { BY_COMMAND, BY_REFUSAL } from '../judges.ts'
import type { Verdict } from '../task-item.ts'
import { giveVerdict, loadTask } from '../verdict.ts'

/**
 * The verdict of a command. What it is about is named by the revision of the report: an answer that
 * comes twice, or late, finds another one and changes nothing.
 */

const CONCURRENCY = 8
/** Of the output; the end of it says most. */
const OUTPUT_SHOWN_CHARS = 2_000

const tail = (text: string): string => text.slice(-OUTPUT_SHOWN_CHARS).trim()

const summaries = {
  passed: 'the command passed',
  failed: 'the command failed',
  timed_out: 'the command did not end in time',
  refused: 'the command was not run',
} as const

const verdictOf = ({ outcome, exit_code, output }: CommandFinished): Verdict => {
  const code = exit_code === null ? '' : ` with exit code ${exit_code}`
  const shown = tail(output)
  return {
    by: outcome === 'refused' ? BY_REFUSAL : BY_COMMAND,
    approved: outcome === 'passed',
    timed_out: outcome === 'timed_out',
    reason:
      outcome === 'passed'
        ? null
        : `${summaries[outcome]}${code}${shown === '' ? '' : `\n${shown}`}`,
  }
}

export const takeCommandVerdict = async (tasks: Tasks, event: CommandFinished): Promise<void> => {
  const entry = await loadTask(tasks, event.user_id, event.task_id)
  if (entry === undefined || entry.revision !== event.revision) return
  if (entry.record.task.verifier.kind !== 'command') return
  await giveVerdict(tasks, entry, verdictOf(event))
}

export const onCommandFinished = (tasks: Tasks): Part =>
  consume(tasks.bus, {
    stream: streams.events,
    durable: durables.tasksCommands,
    log: tasks.log,
    max_in_flight: CONCURRENCY * 4,
    concurrency: CONCURRENCY,
    handle: async (messages) => {
      for (const message of messages) {
        await takeCommandVerdict(tasks, decode(commandFinished.schema, message.data))
      }
    },
  })
