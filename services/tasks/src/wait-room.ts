import { type Bus, subscribeCore } from '@guildhall/bus'
import { Ring, subjects } from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'

/**
 * Where claim_next waits for work. A ring of a queue wakes one waiter of this process, the one that
 * waited longest: waking all would make each new item cost as many tries as there are waiters.
 * Rings may be lost, so every waiter also looks again after a while by itself.
 */
export interface WaitRoom extends Part {
  /** Returns at the next ring of one of the queues, at the latest after `wait_ms`, or at the stop. */
  wait(owner_id: number, queues: readonly string[], wait_ms: number): Promise<void>
  /** The service is stopping: who waits should answer now. */
  closed(): boolean
}

interface Waiter {
  readonly wake: () => void
}

interface Room {
  readonly waiters: Set<Waiter>
  readonly close: () => void
}

export const openWaitRoom = (bus: Bus): WaitRoom => {
  const rooms = new Map<string, Room>()
  let stopped = false

  const enter = (subject: string, waiter: Waiter): void => {
    let room = rooms.get(subject)
    if (room === undefined) {
      const waiters = new Set<Waiter>()
      const subscription = subscribeCore(bus, subject, {}, Ring, () => {
        const first = waiters.values().next().value
        first?.wake()
      })
      room = { waiters, close: subscription.stop }
      rooms.set(subject, room)
    }
    room.waiters.add(waiter)
  }

  const leave = (subject: string, waiter: Waiter): void => {
    const room = rooms.get(subject)
    if (room === undefined) return
    room.waiters.delete(waiter)
    if (room.waiters.size > 0) return
    room.close()
    rooms.delete(subject)
  }

  return {
    name: 'wait-room',
    closed: () => stopped,
    start: async () => {
      stopped = false
    },
    stop: async () => {
      stopped = true
      for (const room of [...rooms.values()]) for (const waiter of [...room.waiters]) waiter.wake()
    },
    wait: (owner_id, queues, wait_ms) =>
      new Promise<void>((resolve) => {
        if (stopped) {
          resolve()
          return
        }
        const places = queues.map((queue) => subjects.doorbell(owner_id, queue))
        const done = (): void => {
          clearTimeout(timer)
          for (const place of places) leave(place, waiter)
          resolve()
        }
        const waiter: Waiter = { wake: done }
        const timer = setTimeout(done, wait_ms)
        for (const place of places) enter(place, waiter)
      }),
  }
}
