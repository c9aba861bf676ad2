import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'

/** The ways to harm a process. Each fault mends what it did before it ends. */

export interface Fault {
  readonly name: string
  run(): Promise<void>
}

interface Victim {
  kill(): Promise<unknown>
  restart(): Promise<void>
  pause(): void
  resume(): void
}

export const MINUTES_10_MS = 600_000

const RESTART_TRIES_MAX = 20
const RESTART_RETRY_MS = 250

type Log = (text: string) => void

/** A service cannot become ready while the bus or the database is down, and is started again. */
const restartUntilReady = async (victim: Victim, log: Log): Promise<void> => {
  for (let tried = 1; ; tried += 1) {
    try {
      await victim.restart()
      return
    } catch (error) {
      if (tried >= RESTART_TRIES_MAX) throw error
      log(`not ready yet: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
      await sleep(RESTART_RETRY_MS)
    }
  }
}

/** The tracks run at their own pace, so no two faults may draw from one stream. */
const streams = (random: Random): ((name: string) => Random) => {
  const times = new Map<string, number>()
  return (name) => {
    const time = (times.get(name) ?? 0) + 1
    times.set(name, time)
    return random.fork(`${name}/${time}`)
  }
}

/** A process that is down for one fault is not taken for another. */
const oneAtATime = () => {
  const taken = new Set<Victim>()
  return (name: string, victims: readonly Victim[], harm: () => Promise<void>): Fault => ({
    name,
    run: async () => {
      while (victims.some((victim) => taken.has(victim))) await sleep(50)
      for (const victim of victims) taken.add(victim)
      try {
        await harm()
      } finally {
        for (const victim of victims) taken.delete(victim)
      }
    },
  })
}

export const createHarm = (random: Random, log: Log) => {
  const dice = streams(random)
  const onVictims = oneAtATime()
  const setClock = (file: string, offset_ms: number): void => writeFileSync(file, `${offset_ms}`)
  return {
    kill: (name: string, ...victims: Victim[]): Fault =>
      onVictims(`kill -9 ${name}`, victims, async () => {
        await Promise.all(victims.map((victim) => victim.kill()))
        await sleep(dice(`kill ${name}`).between(0, 1_000))
        await Promise.all(victims.map((victim) => restartUntilReady(victim, log)))
      }),

    pause: (name: string, victim: Victim): Fault =>
      onVictims(`pause ${name}`, [victim], async () => {
        victim.pause()
        await sleep(dice(`pause ${name}`).between(1_000, 5_000))
        victim.resume()
      }),

    /** The clock of a running process is set ahead, back, and right again. */
    jump: (name: string, file: string): Fault => ({
      name: `clock of ${name} jumps`,
      run: async () => {
        const own = dice(`jump ${name}`)
        for (const offset_ms of own.shuffle([MINUTES_10_MS, -MINUTES_10_MS])) {
          setClock(file, offset_ms)
          await sleep(own.between(1_000, 2_000))
        }
        setClock(file, 0)
      },
    }),

    /** A process comes up on a machine whose clock is wrong, which is then set right. */
    startWrong: (victim: Victim & { readonly name: string }, file: string, offset_ms: number) => {
      const name = `${victim.name} starts 10 minutes ${offset_ms > 0 ? 'ahead' : 'behind'}`
      return onVictims(name, [victim], async () => {
        setClock(file, offset_ms)
        await victim.kill()
        await restartUntilReady(victim, log)
        await sleep(dice(name).between(1_000, 3_000))
        setClock(file, 0)
      })
    },
  }
}
