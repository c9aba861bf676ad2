import { type Bus, createKv } from '@guildhall/bus'
import { agentKey, buckets, ServiceError, StandingRecord } from '@guildhall/contracts'
import { PROJECTION_TRIES_MAX } from './limits.ts'
import type { StandingRow } from './store/standing.ts'

/**
 * The bucket from which other services learn who is quarantined. PostgreSQL is the authority;
 * entries come from the outbox and from the reconciler, in any order and any number of times, and
 * only ever move to a higher version.
 */
export interface Projection {
  /** True when the bucket changed. */
  apply(record: StandingRecord): Promise<boolean>
}

export const standingRecord = ({ since, ...row }: StandingRow): StandingRecord => ({
  v: 1,
  ...row,
  since: Date.parse(since),
})

export const createProjection = (bus: Bus): Projection => {
  const kv = createKv(bus, buckets.standing, StandingRecord)
  return {
    apply: async (record) => {
      const key = agentKey(record.user_id, record.agent_id)
      for (let tried = 0; tried < PROJECTION_TRIES_MAX; tried += 1) {
        const present = await kv.get(key)
        if (present !== undefined && present.value.version >= record.version) return false
        const revision =
          present === undefined
            ? await kv.create(key, record)
            : await kv.update(key, record, present.revision)
        if (revision !== undefined) return true
      }
      throw new ServiceError('unavailable', 'the standing bucket is being written too often')
    },
  }
}
