import { readFileSync } from 'node:fs'

/** CPU time of other processes, from /proc: shows who the bottleneck is. */

export type Processes = Readonly<Record<string, number>>

/** USER_HZ, which Linux has fixed at 100 for everything it shows. */
const TICKS_PER_SECOND = 100

interface CpuReading {
  readonly at_ms: number
  readonly seconds: Readonly<Record<string, number>>
}

const cpuSeconds = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold blanks; utime and stime are the 12th and 13th after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch {
    return Number.NaN
  }
}

export const readCpu = (processes: Processes): CpuReading => ({
  at_ms: performance.now(),
  seconds: Object.fromEntries(
    Object.entries(processes).map(([name, pid]) => [name, cpuSeconds(pid)]),
  ),
})

/** How many CPUs each kept busy between the two readings. */
export const coresUsed = (before: CpuReading, after: CpuReading): Record<string, number> => {
  const seconds = (after.at_ms - before.at_ms) / 1_000
  return Object.fromEntries(
    Object.entries(after.seconds).map(([name, value]) => [
      name,
      (value - (before.seconds[name] ?? Number.NaN)) / seconds,
    ]),
  )
}
