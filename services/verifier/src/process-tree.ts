import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { KILL_ROUND_WAIT_MS, KILL_ROUNDS_MAX } from './limits.ts'

/**
 * Ends everything that a command started. Its process group first, in one call; then whatever left
 * the group but is still of its session, or carries its mark in the environment (a daemon that made
 * a session of its own). What has also forged its environment is left to the pod.
 */

export const MARK_NAME = 'GUILDHALL_RUN'

/** Names the worker, too, so that another one can tell whom nobody looks after any more. */
export const newMark = (): string => `${process.pid}-${randomUUID()}`

const signal = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone meanwhile, or somebody else's: nothing that we could end.
  }
}

const read = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')

/** Of `/proc/<pid>/stat`: the fields after the name, which is in parentheses and may hold any. */
const statOf = async (pid: number) => {
  const stat = await read(`/proc/${pid}/stat`)
  const [state = 'X', , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { ended: ['', 'Z', 'X'].includes(state), group: Number(group), session: Number(session) }
}

const markOf = async (pid: number): Promise<string | undefined> =>
  (await read(`/proc/${pid}/environ`))
    .split('\u0000')
    .find((entry) => entry.startsWith(`${MARK_NAME}=`))
    ?.slice(MARK_NAME.length + 1)

const pidsWhere = async (test: (pid: number) => Promise<boolean>): Promise<number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(test))
  return pids.filter((_, index) => found[index])
}

const survivors = (session: number, mark: string): Promise<number[]> =>
  pidsWhere(async (pid) => {
    const stat = await statOf(pid)
    if (stat.ended) return false
    if (stat.group === session || stat.session === session) return true
    return (await markOf(pid)) === mark
  })

/** Answers how many were still there at the end: 0, unless they are born faster than they die. */
export const killTree = async (session: number, mark: string): Promise<number> => {
  signal(-session)
  for (let round = 0; ; round += 1) {
    const left = await survivors(session, mark)
    if (left.length === 0 || round >= KILL_ROUNDS_MAX) return left.length
    for (const pid of left) signal(pid)
    await delay(KILL_ROUND_WAIT_MS)
  }
}

/** What a worker that was killed could not end: nobody watches over its time any more. */
export const killOrphans = async (): Promise<number> => {
  const orphans = await pidsWhere(async (pid) => {
    const worker = Number((await markOf(pid))?.split('-')[0] ?? Number.NaN)
    return Number.isSafeInteger(worker) && (await statOf(worker)).ended
  })
  for (const pid of orphans) signal(pid)
  return orphans.length
}
