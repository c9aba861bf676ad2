import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// The one place where processes are started and ended, for tests here and for infra/dev. Two of
// the distribution's own programs (util-linux) carry the guarantees that Node cannot give:
// - `setpriv --pdeathsig`: the kernel signals the child when its parent dies, also by SIGKILL, so
//   no server outlives a crashed test. It execs: the pid that we see is the server's own.
// - `flock`: a lock that the kernel drops when its holder dies, so none is ever stale.

export interface ExitStatus {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Another user to run as, when we are root and the program refuses that (PostgreSQL does). */
export interface SystemUser {
  uid: number
  gid: number
  /** Lets that user through directories closed to it, e.g. a checkout below /root. */
  passDirectories: boolean
}

export interface ProcessOptions {
  name: string
  command: string
  args?: readonly string[]
  /** The whole environment of the child; nothing is inherited but what stands here. */
  env?: NodeJS.ProcessEnv
  cwd?: string
  user?: SystemUser
  /** What the child gets when this process dies without stopping it. */
  deathSignal?: NodeJS.Signals
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void
  /** An open file that takes the output, in place of `onLine` and `logs()`, which then see none. */
  output?: number
}

export interface ManagedProcess {
  readonly name: string
  readonly pid: number
  readonly running: boolean
  /** Settles when the process has ended, however it did. Never rejects. */
  readonly exited: Promise<ExitStatus>
  /** The last lines of stdout and stderr. */
  logs(): string
  signal(signal: NodeJS.Signals): void
  /** Asks with `signal` (SIGTERM), and kills when the deadline has passed. */
  stop(options?: { signal?: NodeJS.Signals; deadline_ms?: number }): Promise<ExitStatus>
  kill(): Promise<ExitStatus>
  pause(): void
  resume(): void
}

const LOG_LINES = 2_000
const STOP_DEADLINE_MS = 10_000
const LAST_OUTPUT_MS = 500

const live = new Map<ChildProcess, NodeJS.Signals>()

// The death signal reaches the children a moment after we are gone; at a normal exit they are told
// first, so that the temporary directories below them can be removed.
process.on('exit', () => {
  for (const [child, signal] of live) child.kill(signal)
})

const setprivArguments = (deathSignal: NodeJS.Signals, user?: SystemUser): string[] => {
  const args = ['--pdeathsig', deathSignal.replace(/^SIG/, '')]
  if (user !== undefined) {
    args.push('--reuid', `${user.uid}`, '--regid', `${user.gid}`, '--clear-groups')
    // The secure bit is for access(2), which otherwise forgets the capabilities of a non-root user.
    if (user.passDirectories) {
      args.push('--inh-caps=+dac_override', '--ambient-caps=+dac_override')
      args.push('--securebits=+no_setuid_fixup')
    }
  }
  return [...args, '--']
}

/** The command line that runs `command` as `user`, bound to the life of this process. */
export const guardedCommand = (
  command: string,
  args: readonly string[],
  { deathSignal = 'SIGKILL', user }: Pick<ProcessOptions, 'deathSignal' | 'user'> = {},
): { command: string; args: string[] } => ({
  command: 'setpriv',
  args: [...setprivArguments(deathSignal, user), command, ...args],
})

/** The command line that runs `command` only if it gets the lock; else it exits with 75. */
export const LOCK_HELD_EXIT_CODE = 75
export const withFileLock = (
  lockFile: string,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } => ({
  command: 'flock',
  args: ['-n', '-F', '-E', `${LOCK_HELD_EXIT_CODE}`, lockFile, command, ...args],
})

/**
 * Names one process for good: its start time within one boot of the machine. `undefined` when it
 * no longer runs (a zombie does not run). A pid alone is given out again.
 */
export const processIdentity = (pid: number): string | undefined => {
  const fields = statFields(pid)
  if (fields === undefined) return undefined
  const [state] = fields
  // A killed process is shown as a zombie as soon as its first thread is gone. Until the others
  // are, it still holds its files and ports.
  const isDead = state === 'X' || (state === 'Z' && Number(fields[THREAD_COUNT_FIELD]) <= 1)
  if (isDead) return undefined
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return `${boot}/${fields[START_TIME_FIELD]}`
}

// Of the list below, in which proc(5)'s third field comes first.
const PARENT_FIELD = 1
const THREAD_COUNT_FIELD = 17
const START_TIME_FIELD = 19

/** State, parent and so on of a process, as proc(5) numbers them from 3. */
const statFields = (pid: number): string[] | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field, a name in parentheses, may hold blanks: the fixed ones follow the last ')'.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** The identities of its child processes, by pid. */
export const childIdentities = (parent: number): Map<number, string> => {
  const children = new Map<number, string>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || statFields(pid)?.[PARENT_FIELD] !== `${parent}`) continue
    const identity = processIdentity(pid)
    if (identity !== undefined) children.set(pid, identity)
  }
  return children
}

const collectLines = (child: ChildProcess, onLine: ProcessOptions['onLine']): string[] => {
  const lines: string[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    const input = child[stream]
    if (input === null) continue
    createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
      lines.push(line)
      if (lines.length > LOG_LINES) lines.shift()
      onLine?.(line, stream)
    })
    // A child that a test forgot must not keep the test process from ending.
    if ('unref' in input && typeof input.unref === 'function') input.unref()
  }
  return lines
}

const exitOf = (child: ChildProcess, lines: string[]): Promise<ExitStatus> =>
  new Promise((resolve) => {
    child.once('error', (error) => {
      live.delete(child)
      lines.push(`cannot run it: ${error.message}`)
      resolve({ code: 127, signal: null })
    })
    child.once('exit', (code, signal) => {
      live.delete(child)
      // `close` comes with the end of its output, which says why it ended; but a grandchild can
      // hold the pipe open, so that is not awaited for long.
      const done = (): void => resolve({ code, signal })
      child.once('close', done)
      setTimeout(done, LAST_OUTPUT_MS).unref()
    })
  })

export const spawnManaged = (options: ProcessOptions): ManagedProcess => {
  const guarded = guardedCommand(options.command, options.args ?? [], options)
  const child = spawn(guarded.command, guarded.args, {
    env: options.env ?? { PATH: process.env.PATH },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['ignore', options.output ?? 'pipe', options.output ?? 'pipe'],
  })
  live.set(child, options.deathSignal ?? 'SIGKILL')
  child.unref()
  const lines = collectLines(child, options.onLine)
  let ended = false
  const exited = exitOf(child, lines).then((status) => {
    ended = true
    return status
  })
  const isRunning = (): boolean => !ended && child.exitCode === null && child.signalCode === null

  const finish = async (signal: NodeJS.Signals, deadline_ms: number): Promise<ExitStatus> => {
    // Held while somebody waits for the end: a lone unreferenced child would let Node exit.
    const held = setInterval(() => {}, 60_000)
    const timer = setTimeout(() => child.kill('SIGKILL'), deadline_ms)
    child.kill(signal)
    // A paused process takes no signal but SIGKILL until it is resumed.
    child.kill('SIGCONT')
    try {
      return await exited
    } finally {
      clearTimeout(timer)
      clearInterval(held)
    }
  }

  return {
    name: options.name,
    pid: child.pid ?? -1,
    get running() {
      return isRunning()
    },
    exited,
    logs: () => lines.join('\n'),
    signal: (signal) => {
      if (isRunning()) child.kill(signal)
    },
    stop: ({ signal = 'SIGTERM', deadline_ms = STOP_DEADLINE_MS } = {}) =>
      isRunning() ? finish(signal, deadline_ms) : exited,
    kill: () => (isRunning() ? finish('SIGKILL', STOP_DEADLINE_MS) : exited),
    pause: () => {
      if (isRunning()) child.kill('SIGSTOP')
    },
    resume: () => {
      if (isRunning()) child.kill('SIGCONT')
    },
  }
}
