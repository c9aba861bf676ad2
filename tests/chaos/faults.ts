import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningService, System, SystemService } from '@guildhall/testing'
import type { History } from './history.ts'
import type { Random } from './random.ts'

/**
 * What is done to the system. Two tracks run beside each other, so that faults meet: services on
 * the one; the bus, the database and clocks on the other. On each track every fault comes once, in
 * a shuffled order, before any comes again.
 */

export interface FaultDeps {
  readonly system: System
  readonly history: History
  readonly random: Random
  /** Milliseconds by which each replica of tasks sees the wall clock shifted. */
  readonly clock_files: readonly string[]
  readonly log: (text: string) => void
}

interface Fault {
  readonly name: string
  run(): Promise<void>
}

interface Process {
  readonly running: boolean
  kill(): Promise<unknown>
  restart(): Promise<void>
  pause(): void
  resume(): void
}

const RESTART_TRIES_MAX = 20
const MINUTES_10_MS = 600_000

/** A service cannot become ready while the bus or the database is down, and is started again. */
const restartUntilReady = async (process: Process, log: FaultDeps['log']): Promise<void> => {
  for (let tried = 1; ; tried += 1) {
    try {
      await process.restart()
      return
    } catch (error) {
      if (tried >= RESTART_TRIES_MAX) throw error
      log(`not ready yet: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
      await sleep(250)
    }
  }
}

const createFaults = ({ system, random, clock_files, log }: FaultDeps) => {
  const times = new Map<string, number>()
  /** The tracks run at their own pace, so no two faults may draw from one stream. */
  const own = (name: string): Random => {
    const time = (times.get(name) ?? 0) + 1
    times.set(name, time)
    return random.fork(`${name}/${time}`)
  }
  // A process that is down for one fault is not taken for another.
  const taken = new Set<Process>()

  const onProcesses = (
    name: string,
    processes: readonly Process[],
    harm: () => Promise<void>,
  ): Fault => ({
    name,
    run: async () => {
      while (processes.some((process) => taken.has(process))) await sleep(50)
      for (const process of processes) taken.add(process)
      try {
        await harm()
      } finally {
        for (const process of processes) taken.delete(process)
      }
    },
  })

  const kill = (name: string, ...processes: Process[]): Fault =>
    onProcesses(`kill -9 ${name}`, processes, async () => {
      await Promise.all(processes.map((process) => process.kill()))
      await sleep(own(name).between(0, 1_000))
      await Promise.all(processes.map((process) => restartUntilReady(process, log)))
    })

  const pause = (name: string, process: Process): Fault =>
    onProcesses(`pause ${name}`, [process], async () => {
      process.pause()
      await sleep(own(name).between(1_000, 5_000))
      process.resume()
    })

  const each = (service: SystemService): readonly RunningService[] => system.services[service]

  /** The clock of a running replica is set ahead, back, and right again. */
  const jump = (index: number, file: string): Fault => ({
    name: `clock of tasks-${index} jumps`,
    run: async () => {
      const dice = own(`clock-${index}`)
      for (const offset_ms of dice.shuffle([MINUTES_10_MS, -MINUTES_10_MS])) {
        writeFileSync(file, `${offset_ms}`)
        await sleep(dice.between(1_000, 2_000))
      }
      writeFileSync(file, '0')
    },
  })

  /** A replica comes up on a machine whose clock is wrong, which is then set right. */
  const startWrong = (file: string, replica: RunningService, offset_ms: number): Fault => {
    const name = `${replica.name} starts 10 minutes ${offset_ms > 0 ? 'ahead' : 'behind'}`
    return onProcesses(name, [replica], async () => {
      writeFileSync(file, `${offset_ms}`)
      await replica.kill()
      await restartUntilReady(replica, log)
      await sleep(own(name).between(1_000, 3_000))
      writeFileSync(file, '0')
    })
  }

  const { nats, postgres } = system
  const replicas = (['mcp-gateway', 'ingest', 'tasks', 'approvals'] as const).flatMap(each)
  return {
    services: [
      ...replicas.map((replica) => kill(replica.name, replica)),
      ...each('tasks').map((replica) => pause(replica.name, replica)),
      ...each('mcp-gateway')
        .slice(0, 1)
        .map((replica) => pause(replica.name, replica)),
      ...each('ingest')
        .slice(0, 1)
        .map((replica) => pause(replica.name, replica)),
      kill('all of tasks', ...each('tasks')),
    ],
    killed_first: [kill('nats-server', nats), kill('postgres', postgres)],
    below: [
      pause('nats-server', nats),
      pause('postgres', postgres),
      ...clock_files.flatMap((file, i): Fault[] => {
        const replica = each('tasks')[i]
        if (replica === undefined) return []
        return [
          jump(i, file),
          startWrong(file, replica, MINUTES_10_MS),
          startWrong(file, replica, -MINUTES_10_MS),
        ]
      }),
    ],
  }
}

/** Runs until told to stop; then lets the faults that are under way end, which mends them. */
export const runFaults = async (
  deps: FaultDeps,
  goesOn: () => boolean,
  skip: (name: string) => boolean = () => false,
): Promise<void> => {
  const { history, random, log } = deps
  const { services, killed_first, below } = createFaults(deps)
  const track = async (first_turn: readonly Fault[], own: Random): Promise<void> => {
    let turn = first_turn
    while (goesOn()) {
      for (const { name, run } of turn) {
        await sleep(own.between(150, 900))
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
  const own = random.fork('order')
  await Promise.all([
    track(own.shuffle(services), random.fork('services')),
    // What everything stands on is killed first, so that a short run has that too.
    track([...own.shuffle(killed_first), ...own.shuffle(below)], random.fork('below')),
  ])
}
