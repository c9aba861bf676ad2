import { subscribeCore } from '@guildhall/bus'
import { Rung } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { recordRung } from '../store/rings.ts'

/** Notes which rings were written to a stream. Lossy, as the rings themselves are. */
export const onRung = (tasks: Pick<Tasks, 'bus' | 'db' | 'log'>): Part => {
  let subscription: { stop(): void } | undefined
  return {
    name: 'on-rung',
    start: async () => {
      subscription = subscribeCore(
        tasks.bus,
        'rung.*.*',
        { queue: tasks.bus.service },
        Rung,
        (rung, subject) => {
          recordRung(tasks.db, Number(subject.split('.')[1]), rung).catch((err: unknown) =>
            tasks.log.debug({ err }, 'ring not noted'),
          )
        },
      )
    },
    stop: async () => subscription?.stop(),
  }
}
