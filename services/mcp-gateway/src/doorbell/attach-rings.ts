import { type Bus, type Caller, createKv } from '@guildhall/bus'
import {
  AttachRings,
  buckets,
  oldestPending,
  RING_REPEAT_MIN_MS,
  RINGS_ON_ATTACH,
  type TodoRow,
} from '@guildhall/contracts'
import { type Clock, newRequestId } from '@guildhall/runtime'
import { type EndpointView, withGrant } from '../identity/endpoint-view.ts'

/**
 * What to ring for when a stream attaches: the todos that waited longest, but not again the ones
 * that an attach of the same endpoint was rung for a moment ago, or a client that reconnects in a
 * loop would burn a model's turn each time. The memory lies in the `rates` bucket, so that it holds
 * on every replica; the bucket forgets by itself.
 */

const CAS_TRIES = 4
/** What oldest_pending allows; also bounds the memory. */
const LOOK_AT_MAX = 20

interface AttachRingsOptions {
  readonly bus: Bus
  readonly caller: Caller
  readonly clock: Clock
}

export interface AttachRinger {
  /** Rows to ring for now, oldest first. */
  pick(view: EndpointView, queues: ReadonlySet<string>): Promise<readonly TodoRow[]>
}

export const createAttachRinger = ({ bus, caller, clock }: AttachRingsOptions): AttachRinger => {
  const memory = createKv(bus, buckets.rates, AttachRings)

  const waiting = async (view: EndpointView): Promise<readonly TodoRow[]> => {
    const output = await caller.call(
      oldestPending,
      { limit: LOOK_AT_MAX },
      {
        principal: withGrant(view.principal, oldestPending.grant ?? oldestPending.name),
        request_id: newRequestId(),
      },
    )
    return output.todos
  }

  /** Chooses and remembers in one compare-and-set: of two attaches at once, one rings for a todo. */
  const choose = async (key: string, rows: readonly TodoRow[]): Promise<readonly TodoRow[]> => {
    for (let tried = 0; tried < CAS_TRIES; tried += 1) {
      const known = await memory.get(key)
      const now_ms = clock.now()
      const recent = (known?.value.rung ?? []).filter(
        ({ at_ms }) => Math.abs(now_ms - at_ms) < RING_REPEAT_MIN_MS,
      )
      const recent_ids = new Set(recent.map(({ todo_id }) => todo_id))
      const chosen = rows.filter(({ id }) => !recent_ids.has(id)).slice(0, RINGS_ON_ATTACH)
      if (chosen.length === 0) return chosen
      const fresh = chosen.map(({ id }) => ({ todo_id: id, at_ms: now_ms }))
      const value: AttachRings = { v: 1, rung: [...fresh, ...recent].slice(0, LOOK_AT_MAX) }
      const revision =
        known === undefined
          ? await memory.create(key, value)
          : await memory.update(key, value, known.revision)
      if (revision !== undefined) return chosen
    }
    return []
  }

  return {
    pick: async (view, queues) => {
      const rows = (await waiting(view)).filter(({ queue }) => queues.has(queue))
      return choose(`attach.${view.endpoint.endpoint_id}`, rows)
    },
  }
}
