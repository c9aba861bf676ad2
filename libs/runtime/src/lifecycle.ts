import type { Logger } from 'pino'

/**
 * Everything long-lived. `stop` tolerates that `start` was never called or did not finish, and a
 * second call.
 */
export interface Part {
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
}

interface RunOptions {
  readonly service: string
  readonly log: Logger
  readonly parts: readonly Part[]
  /** How long a stop may take before the process ends anyway. */
  readonly drain_ms?: number
}

const DRAIN_MS = 25_000

const stopAll = async (parts: readonly Part[], log: Logger): Promise<void> => {
  for (const part of [...parts].reverse()) {
    try {
      await part.stop()
    } catch (err) {
      log.error({ err, part: part.name }, 'part did not stop cleanly')
    }
  }
}

/**
 * Starts the parts in order and keeps the process until SIGTERM or SIGINT; then stops them in
 * reverse. A part that fails to start stops the process with exit code 1.
 */
export const runService = async ({
  service,
  log,
  parts,
  drain_ms = DRAIN_MS,
}: RunOptions): Promise<void> => {
  let stopping = false
  const shutdown = (reason: string, code: number): void => {
    if (stopping) return
    stopping = true
    log.info({ reason }, 'stopping')
    setTimeout(() => {
      log.error({ drain_ms }, 'stop took too long, ending anyway')
      process.exit(code === 0 ? 1 : code)
    }, drain_ms).unref()
    void stopAll(parts, log).then(() => {
      log.info('stopped')
      process.exit(code)
    })
  }
  process.on('SIGTERM', () => shutdown('SIGTERM', 0))
  process.on('SIGINT', () => shutdown('SIGINT', 0))
  process.on('unhandledRejection', (err) => {
    log.fatal({ err }, 'unhandled rejection')
    shutdown('unhandled rejection', 1)
  })
  try {
    for (const part of parts) await part.start()
    log.info({ service, pid: process.pid }, 'started')
  } catch (err) {
    log.fatal({ err }, 'could not start')
    shutdown('start failed', 1)
  }
}

interface IntervalOptions {
  readonly name: string
  readonly every_ms: number
  readonly log: Logger
  readonly run: () => Promise<void>
}

/** Runs a job again and again, never twice at once; a failing run is logged and the next one comes. */
export const interval = ({
  name,
  every_ms,
  log,
  run,
}: IntervalOptions): Part & { now(): Promise<void> } => {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = true
  const once = (): Promise<void> => {
    running ??= run()
      .catch((err: unknown) => log.warn({ err, job: name }, 'periodic job failed'))
      .finally(() => {
        running = undefined
      })
    return running
  }
  const plan = (): void => {
    if (stopped) return
    timer = setTimeout(() => void once().then(plan), every_ms)
  }
  return {
    name,
    now: once,
    start: async () => {
      stopped = false
      plan()
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
