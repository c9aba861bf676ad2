import { consume, decode, durables } from '@guildhall/bus'
import { approvalDecided, streams } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { materialise } from '../materialise.ts'

/** Approved task trees become tasks; other decisions are other services' business. */
export const onTreeApproved = (tasks: Tasks): Part =>
  consume(tasks.bus, {
    stream: streams.events,
    durable: durables.tasksApprovals,
    log: tasks.log,
    max_in_flight: 16,
    handle: async (messages) => {
      for (const message of messages) {
        const event = decode(approvalDecided.schema, message.data)
        const { kind, decision, goal_id } = event
        if (kind !== 'task_tree' || decision !== 'approved' || goal_id === null) continue
        if (!(await materialise(tasks, { ...event, goal_id }))) continue
        // What this wrote leaves at once; should that fail, the relay brings it a moment later.
        await tasks.settle().catch((err: unknown) => tasks.log.warn({ err }, 'not yet in force'))
      }
    },
  })
