import { publishCore } from '@guildhall/bus'
import { subjects, type WorkRecord } from '@guildhall/contracts'
import type { Tasks } from './context.ts'

/** Says that an item can be claimed. Lossy: correctness never depends on it. */
export const ring = (tasks: Pick<Tasks, 'bus'>, record: WorkRecord): void => {
  publishCore(tasks.bus, subjects.doorbell(record.owner_id, record.queue), {
    v: 1,
    todo_id: record.id,
    queue: record.queue,
    ...(record.kind === undefined ? {} : { kind: record.kind }),
    ...(record.source === undefined ? {} : { source: record.source }),
    title: record.title,
  })
}
