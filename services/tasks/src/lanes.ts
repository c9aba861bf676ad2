import { type Bus, createKv, ensureLaneConsumer, mirrorKv } from '@guildhall/bus'
import {
  buckets,
  type Lane,
  LaneRecord,
  laneConsumer,
  laneKey,
  Priority,
  subjects,
} from '@guildhall/contracts'
import type { Logger, Part } from '@guildhall/runtime'

/**
 * A queue has a lane per priority that was ever used in it, each a durable consumer. Queues come to
 * be by use: the first item of a lane creates it, and the lanes bucket tells all replicas.
 */
export interface Lanes extends Part {
  /** Must come before the lane's first message, or nobody would look for it. */
  ensure(lane: Lane): Promise<void>
  /** The lanes of a queue, most urgent first. */
  of(owner_id: number, queue: string): readonly Lane[]
}

export const openLanes = (bus: Bus, log: Logger): Lanes => {
  const kv = createKv(bus, buckets.lanes, LaneRecord)
  const known = mirrorKv(bus, buckets.lanes, LaneRecord, { log })
  const ensured = new Set<string>()
  const pending = new Map<string, Promise<void>>()

  const create = async (lane: Lane, key: string): Promise<void> => {
    await ensureLaneConsumer(bus, laneConsumer(lane), subjects.lane(lane))
    if (known.get(key) === undefined) {
      await kv.put(key, { v: 1 })
      known.set(key, { v: 1 })
    }
    ensured.add(key)
  }

  return {
    name: 'lanes',
    start: () => known.start(),
    stop: () => known.stop(),
    ensure: async (lane) => {
      const key = laneKey(lane)
      if (ensured.has(key)) return
      const creating = pending.get(key) ?? create(lane, key).finally(() => pending.delete(key))
      pending.set(key, creating)
      await creating
    },
    of: (owner_id, queue) =>
      Priority.options
        .map((priority): Lane => ({ owner_id, queue, priority }))
        .filter((lane) => known.get(laneKey(lane)) !== undefined),
  }
}
