import { type Bus, createKv } from '@guildhall/bus'
import { agentKey, buckets, StandingRecord } from '@guildhall/contracts'

/**
 * Who is in quarantine. Read from the bucket at each claim rather than from a mirror: one more round
 * trip, and nobody takes work in the moment between a quarantine and its arrival.
 */
export interface Standing {
  isQuarantined(user_id: number, agent_id: number): Promise<boolean>
}

export const openStanding = (bus: Bus): Standing => {
  const kv = createKv(bus, buckets.standing, StandingRecord)
  return {
    isQuarantined: async (user_id, agent_id) =>
      (await kv.get(agentKey(user_id, agent_id)))?.value.quarantined === true,
  }
}
