// `make up`: starts the supervisor, shows its progress, and prints how to use what runs then.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { LOCK_HELD_EXIT_CODE, waitFor, withFileLock } from '@guildhall/testing'
import { type DevFile, readDevFile } from './dev-file.ts'
import { createDirectories, type Layout, logFile } from './layout.ts'
import { openLog } from './log-file.ts'
import { type Options, readOptions } from './options.ts'
import type { Progress } from './progress.ts'
import { isAlive, RENEW_LOGIN_SIGNAL, readState } from './state.ts'
import { summary } from './summary.ts'
import { dim, green, red, seconds } from './terminal.ts'

const SUPERVISOR = fileURLToPath(new URL('./supervisor.js', import.meta.url))
// The first start may download nats-server and make a database cluster on a slow disk.
const START_TIMEOUT_MS = 600_000
const APPEAR_TIMEOUT_MS = 10_000
const RENEW_TIMEOUT_MS = 15_000
const STOP_TIMEOUT_MS = 100_000
const INTERRUPTED = 130

type Outcome = 'ready' | 'failed' | 'running already'

const startSupervisor = ({ layout, args }: Options): ChildProcess => {
  const output = openLog(logFile(layout, 'supervisor'))
  const locked = withFileLock(layout.lockFile, process.execPath, [SUPERVISOR, ...args])
  return spawn(locked.command, locked.args, {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
    env: process.env,
    cwd: layout.root,
  })
}

const show = (message: Progress): void => {
  if (message.type === 'step') {
    console.log(`  ${green('✓')} ${message.text} ${dim(seconds(message.took_ms))}`)
  } else if (message.type === 'failed') {
    console.error(`  ${red('✗')} ${message.message}`)
  }
}

const follow = (supervisor: ChildProcess, layout: Layout): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    let hasFailed = false
    supervisor.once('error', reject)
    // `as`: our own supervisor is the only sender.
    supervisor.on('message', (message: Progress) => {
      show(message)
      hasFailed = message.type === 'failed'
      if (message.type === 'ready') resolve('ready')
      if (message.type === 'failed') resolve('failed')
    })
    supervisor.once('exit', (code) => {
      if (hasFailed) return
      if (code === LOCK_HELD_EXIT_CODE) return resolve('running already')
      console.error(`  ${red('✗')} the supervisor ended; see ${logFile(layout, 'supervisor')}`)
      resolve('failed')
    })
  })

/** Ctrl-C while it comes up means that nothing should stay. */
const stopOnInterrupt = (supervisor: ChildProcess): void => {
  const interrupt = (): void => {
    console.error('\nInterrupted: stopping what was started.')
    supervisor.removeAllListeners('exit')
    supervisor.once('exit', () => process.exit(INTERRUPTED))
    supervisor.kill('SIGTERM')
  }
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
}

const isRunning = (layout: Layout): boolean => {
  const state = readState(layout)
  return state !== undefined && isAlive(state.supervisor)
}

/** Another `up` was here before; waits until it has finished its work. */
const awaitOther = async (layout: Layout): Promise<Outcome> => {
  // Its supervisor may hold the lock and not have written yet who it is.
  await waitFor(() => isRunning(layout), {
    timeout_ms: APPEAR_TIMEOUT_MS,
    what: 'the other start to show',
  }).catch(() => {})
  const isSettled = () => readState(layout)?.phase === 'ready' || !isRunning(layout)
  await waitFor(isSettled, { timeout_ms: START_TIMEOUT_MS, what: 'the other start to finish' })
  return isRunning(layout) ? 'running already' : 'failed'
}

/** What runs, with a login link that works: the one that was shown before may be used up. */
const withNewLogin = async (layout: Layout): Promise<DevFile | undefined> => {
  const [state, before] = [readState(layout), readDevFile(layout)]
  if (state === undefined || before === undefined) return before
  process.kill(state.supervisor.pid, RENEW_LOGIN_SIGNAL)
  const renewed = () => {
    const dev = readDevFile(layout)
    return dev?.owner.login_url !== before.owner.login_url && dev
  }
  return waitFor(renewed, { timeout_ms: RENEW_TIMEOUT_MS, what: 'a new login link' }).catch(() => {
    console.error('No new login link could be made; the old one may be used up.')
    return before
  })
}

const start = async (options: Options): Promise<Outcome> => {
  const { layout } = options
  if (readState(layout)?.phase === 'stopping' && isRunning(layout)) {
    console.log('Guildhall is being stopped; waiting for that.')
    await waitFor(() => !isRunning(layout), { timeout_ms: STOP_TIMEOUT_MS, what: 'make down' })
  }
  if (isRunning(layout)) return awaitOther(layout)
  console.log('Starting Guildhall')
  const supervisor = startSupervisor(options)
  stopOnInterrupt(supervisor)
  const outcome = await follow(supervisor, layout)
  if (outcome === 'ready') {
    supervisor.disconnect()
    supervisor.unref()
  }
  return outcome === 'running already' ? awaitOther(layout) : outcome
}

const main = async (): Promise<number> => {
  const options = readOptions(process.argv.slice(2), process.env)
  createDirectories(options.layout)
  const outcome = await start(options)
  if (outcome === 'failed') {
    console.error(`Guildhall did not start. Logs: ${options.layout.log}`)
    return 1
  }
  if (outcome === 'running already') console.log('Guildhall is already running.')
  const dev = outcome === 'ready' ? readDevFile(options.layout) : await withNewLogin(options.layout)
  if (dev !== undefined) console.log(summary(dev, options.layout.log))
  return 0
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(red(error instanceof Error ? error.message : String(error)))
  process.exitCode = 1
}
