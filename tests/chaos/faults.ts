import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningService, System, SystemService } from '@guildhall/testing'
import { createHarm, type Fault, MINUTES_10_MS } from './harm.ts'
import type { History } from './history.ts'
import type { Random } from './random.ts'

/**
 * What is done to the system, and when. Three tracks run beside each other, so that faults meet:
 * services; the bus and the database; clocks. On each track every fault comes once, in a shuffled
 * order, before any comes again.
 */

interface FaultDeps {
  readonly system: System
  readonly history: History
  readonly random: Random
  /** Milliseconds by which each replica of tasks sees the wall clock shifted. */
  readonly clock_files: readonly string[]
  readonly log: (text: string) => void
}

/** Between two faults of one track. */
const QUIET_MS = [200, 1_500] as const

const planFaults = ({ system, random, clock_files, log }: FaultDeps) => {
  const { kill, pause, jump, startWrong } = createHarm(random, log)
  const { nats, postgres } = system
  const each = (service: SystemService): readonly RunningService[] => system.services[service]
  const replicas = (['mcp-gateway', 'ingest', 'tasks', 'approvals'] as const).flatMap(each)
  const paused = [
    ...each('tasks'),
    ...each('mcp-gateway').slice(0, 1),
    ...each('ingest').slice(0, 1),
  ]
  return {
    services: [
      ...replicas.map((replica) => kill(replica.name, replica)),
      ...paused.map((replica) => pause(replica.name, replica)),
      kill('all of tasks', ...each('tasks')),
    ],
    // Both are killed before either is paused, so that a short run has that too.
    kills_below: [kill('nats-server', nats), kill('postgres', postgres)],
    pauses_below: [pause('nats-server', nats), pause('postgres', postgres)],
    clocks: each('tasks').flatMap((replica, i): Fault[] => {
      const file = clock_files[i]
      if (file === undefined) return []
      return [
        jump(replica.name, file),
        startWrong(replica, file, MINUTES_10_MS),
        startWrong(replica, file, -MINUTES_10_MS),
      ]
    }),
  }
}

/** Runs until told to stop; then lets the faults that are under way end, which mends them. */
export const runFaults = async (
  deps: FaultDeps,
  goesOn: () => boolean,
  skip: (name: string) => boolean = () => false,
): Promise<void> => {
  const { history, random, log } = deps
  const { services, kills_below, pauses_below, clocks } = planFaults(deps)
  const track = async (first_turn: readonly Fault[], own: Random): Promise<void> => {
    let turn = first_turn
    while (goesOn()) {
      for (const { name, run } of turn) {
        await sleep(own.between(...QUIET_MS))
        if (!goesOn()) return
        if (skip(name)) continue
        history.fault(name, 'begin')
        log(name)
        await run()
        history.fault(name, 'end')
      }
      turn = own.shuffle(first_turn)
    }
  }
  const order = random.fork('order')
  await Promise.all([
    track(order.shuffle(services), random.fork('services')),
    track([...order.shuffle(kills_below), ...order.shuffle(pauses_below)], random.fork('below')),
    track(order.shuffle(clocks), random.fork('clocks')),
  ])
}
