import { readFileSync } from 'node:fs'

/** CPU time of other processes, from /proc: shows who works, and that the load does not limit. */

export type Processes = Readonly<Record<string, number>>

/** USER_HZ, which Linux has fixed at 100 for everything it shows. */
const TICKS_PER_SECOND = 100

type CpuReading = Readonly<Record<string, number>>

const ownSeconds = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold blanks; utime and stime are the 12th and 13th after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch {
    return Number.NaN
  }
}

const childrenOf = (pid: number): readonly number[] => {
  try {
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return pids.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** With its children, for PostgreSQL works in them. One that is gone again counts nothing. */
const cpuSeconds = (pid: number): number =>
  childrenOf(pid)
    .map(ownSeconds)
    .filter(Number.isFinite)
    .reduce((sum, seconds) => sum + seconds, ownSeconds(pid))

export const readCpu = (processes: Processes): CpuReading =>
  Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuSeconds(pid)]))

/** CPU time in ms that each has used per operation since the reading. */
export const cpuSince = (
  before: CpuReading,
  processes: Processes,
  operations: number,
): Record<string, number> =>
  Object.fromEntries(
    Object.entries(readCpu(processes)).map(([name, seconds]) => [
      name,
      ((seconds - (before[name] ?? Number.NaN)) * 1_000) / operations,
    ]),
  )
