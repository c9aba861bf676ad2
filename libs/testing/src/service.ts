import { type ExitStatus, type ManagedProcess, spawnManaged } from './managed-process.ts'
import { waitFor } from './wait-for.ts'

export interface ServiceOptions {
  /** The compiled file, e.g. services/tasks/dist/src/main.js. */
  entry: string
  name: string
  /** The whole environment, besides PATH and HOME. */
  env: NodeJS.ProcessEnv
  args?: readonly string[]
  cwd?: string
  /** Ready when a GET of this answers 2xx. */
  readyUrl?: string
  /** Ready when a line of its output holds this. Without both, it counts as ready at once. */
  readyLine?: string | RegExp
  readyTimeout_ms?: number
}

export interface RunningService {
  readonly name: string
  /** Of the running process: it changes with a restart. */
  readonly pid: number
  readonly running: boolean
  /** The end of the present process. */
  readonly exited: Promise<ExitStatus>
  /** The last lines of its output, over all its restarts. */
  logs(): string
  /** SIGTERM, then SIGKILL after the deadline. */
  stop(options?: { deadline_ms?: number }): Promise<ExitStatus>
  /** SIGKILL. */
  kill(): Promise<ExitStatus>
  pause(): void
  resume(): void
  /** Stops it if it runs, and starts it again, with changes to its environment if given. */
  restart(env?: NodeJS.ProcessEnv): Promise<void>
}

const READY_TIMEOUT_MS = 30_000
const LOG_LINES = 5_000

const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}

const holds = (line: string, wanted: string | RegExp): boolean =>
  typeof wanted === 'string' ? line.includes(wanted) : wanted.test(line)

/** Runs a compiled service under this Node, waits until it is ready; it never outlives us. */
export const startService = async (options: ServiceOptions): Promise<RunningService> => {
  const lines: string[] = []
  let env = options.env
  let service = await launch(options, env, lines)
  return {
    name: options.name,
    get pid() {
      return service.pid
    },
    get running() {
      return service.running
    },
    get exited() {
      return service.exited
    },
    logs: () => lines.join('\n'),
    stop: (stopOptions) => service.stop(stopOptions),
    kill: () => service.kill(),
    pause: () => service.pause(),
    resume: () => service.resume(),
    restart: async (changes = {}) => {
      await service.stop()
      env = { ...env, ...changes }
      service = await launch(options, env, lines)
    },
  }
}

const launch = async (
  options: ServiceOptions,
  env: NodeJS.ProcessEnv,
  lines: string[],
): Promise<ManagedProcess> => {
  const { entry, name, args = [], cwd, readyUrl, readyLine } = options
  let sawReadyLine = readyLine === undefined
  const service = spawnManaged({
    name,
    command: process.execPath,
    args: ['--enable-source-maps', entry, ...args],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    onLine: (line) => {
      lines.push(line)
      if (lines.length > LOG_LINES) lines.shift()
      if (readyLine !== undefined && holds(line, readyLine)) sawReadyLine = true
    },
  })
  const isReady = async (): Promise<boolean> => {
    if (!service.running) return true
    return sawReadyLine && (readyUrl === undefined || (await answers(readyUrl)))
  }
  try {
    const timeout_ms = options.readyTimeout_ms ?? READY_TIMEOUT_MS
    await waitFor(isReady, { timeout_ms, what: `${name} to be ready` })
  } catch (error) {
    await service.kill()
    throw new Error(`${name} did not become ready:\n${service.logs()}`, { cause: error })
  }
  const awaited = readyUrl !== undefined || readyLine !== undefined
  if (awaited && !service.running) {
    const { code, signal } = await service.exited
    throw new Error(`${name} ended at its start (${signal ?? code}):\n${service.logs()}`)
  }
  return service
}
