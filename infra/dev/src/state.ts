import { rmSync } from 'node:fs'
import { processIdentity, waitFor } from '@guildhall/testing'
import type { Layout } from './layout.ts'
import { readJson, writePrivateJson } from './private-file.ts'

/** A process that we started. A pid is given out again, so its identity is kept with it. */
export interface OwnProcess {
  name: string
  pid: number
  identity: string
}

export interface State {
  supervisor: OwnProcess
  phase: 'starting' | 'ready' | 'stopping'
  children: OwnProcess[]
}

/** To the supervisor: put a new login link into dev.json. */
export const RENEW_LOGIN_SIGNAL = 'SIGUSR2'

const TERMINATE_DEADLINE_MS = 15_000
const KILL_DEADLINE_MS = 5_000

/** `undefined` when the process has ended already. */
export const identify = (name: string, pid: number): OwnProcess | undefined => {
  const identity = processIdentity(pid)
  return identity === undefined ? undefined : { name, pid, identity }
}

/** False for a process that ended, and for another one that was given its pid. */
export const isAlive = ({ pid, identity }: OwnProcess): boolean => processIdentity(pid) === identity

// `as`: only the supervisor writes the file.
export const readState = (layout: Layout): State | undefined =>
  readJson(layout.stateFile) as State | undefined

export const writeState = (layout: Layout, state: State): void =>
  writePrivateJson(layout.stateFile, state)

/** Forgets what ran. The data stays. */
export const clearState = (layout: Layout): void => {
  rmSync(layout.stateFile, { force: true })
  rmSync(layout.devFile, { force: true })
}

// On SIGTERM PostgreSQL waits for its clients to leave; on SIGINT it ends their sessions.
const politeSignal = ({ name }: OwnProcess) => (name === 'postgres' ? 'SIGINT' : 'SIGTERM')

const send = (processes: readonly OwnProcess[], signal?: NodeJS.Signals): void => {
  for (const one of processes) {
    try {
      if (isAlive(one)) process.kill(one.pid, signal ?? politeSignal(one))
    } catch {
      // It ended between the check and the signal.
    }
  }
}

/** Ends those of them that still run: asks first, then kills. Answers which ones ran. */
export const endProcesses = async (
  processes: readonly OwnProcess[],
  deadline_ms = TERMINATE_DEADLINE_MS,
): Promise<OwnProcess[]> => {
  const alive = processes.filter(isAlive)
  const allEnded = () => !alive.some(isAlive)
  const what = `the processes ${alive.map(({ name, pid }) => `${name} (${pid})`).join(', ')} to end`
  send(alive)
  try {
    await waitFor(allEnded, { timeout_ms: deadline_ms, what })
  } catch {
    send(alive, 'SIGKILL')
    await waitFor(allEnded, { timeout_ms: KILL_DEADLINE_MS, what })
  }
  return alive
}
