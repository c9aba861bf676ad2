// The detached process behind `make up`: it owns every other one. Started by up.ts under a file
// lock, so there is one per checkout. It uses the process supervision of libs/testing, which is
// the single place for that.
import { existsSync } from 'node:fs'
import { writeDevFile } from './dev-file.ts'
import type { KeptUnit } from './keep-running.ts'
import { createDirectories, logFile } from './layout.ts'
import { logEvent, rotateLog } from './log-file.ts'
import { readOptions } from './options.ts'
import { tell } from './progress.ts'
import { bringUp, type Running } from './stack.ts'
import {
  clearState,
  endProcesses,
  identify,
  type OwnProcess,
  RENEW_LOGIN_SIGNAL,
  readState,
  type State,
  writeState,
} from './state.ts'

const ROTATE_EVERY_MS = 60_000
const CHECK_STATE_EVERY_MS = 2_000
// They were asked to end when their supervisor died; whoever still runs is not listening.
const LEFTOVER_DEADLINE_MS = 3_000
const SERVERS = ['nats-server', 'postgres']

const options = readOptions(process.argv.slice(2), process.env)
const { layout } = options
createDirectories(layout)

/** Never throws: a full disk, or no directory any more, must not end what runs. */
const log = (msg: string, details?: Record<string, unknown>): void => {
  try {
    logEvent(logFile(layout, 'supervisor'), msg, details)
  } catch {
    // There is nowhere else to say it.
  }
}

const units: KeptUnit[] = []
let phase: State['phase'] = 'starting'
let running: Running | undefined

const childProcesses = (): OwnProcess[] =>
  units.flatMap(({ name, pid }) => {
    const own = pid === undefined ? undefined : identify(name, pid)
    return own === undefined ? [] : [own]
  })

/** Written whenever a pid changes, so that the next `up` or `down` knows what to end. */
const record = (): void => {
  const supervisor = identify('supervisor', process.pid)
  if (supervisor === undefined) throw new Error('cannot read our own entry in /proc')
  const children = childProcesses()
  writeState(layout, { supervisor, phase, children })
  if (phase !== 'ready' || running === undefined) return
  const pids = Object.fromEntries([supervisor, ...children].map(({ name, pid }) => [name, pid]))
  writeDevFile(layout, { ...running.description, pids })
}

const logNames = (): string[] => ['supervisor', ...SERVERS, ...options.services.map((s) => s.name)]

const rotateLogs = (): void => {
  for (const name of logNames()) rotateLog(logFile(layout, name))
}

let ending: Promise<void> | undefined

/** Services first, while the servers that they finish their work with still run. */
const shutDown = (code: number): Promise<void> => {
  ending ??= (async () => {
    phase = 'stopping'
    log('stopping')
    record()
    await Promise.all(units.filter(({ name }) => !SERVERS.includes(name)).map((u) => u.stop()))
    await Promise.all(units.filter(({ name }) => SERVERS.includes(name)).map((u) => u.stop()))
    clearState(layout)
    log('stopped')
    process.exit(code)
  })()
  return ending
}

process.on('SIGTERM', () => void shutDown(0))
process.on('SIGINT', () => void shutDown(0))
/** Asked for by a later `up`: the link of the first one has been used, or is too old. */
const renewLogin = async (): Promise<void> => {
  if (running === undefined || phase !== 'ready') return
  try {
    Object.assign(running.description, await running.renewLogin())
    record()
  } catch (error) {
    log('cannot make a new login link', { err: String(error) })
  }
}
process.on(RENEW_LOGIN_SIGNAL, () => void renewLogin())
// The terminal that started us may close.
process.on('SIGHUP', () => {})

const step = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
  const since = performance.now()
  const result = await work()
  const took_ms = Math.round(performance.now() - since)
  log(text, { took_ms })
  tell({ type: 'step', text, took_ms })
  return result
}

const onUnit = (unit: KeptUnit): void => {
  // A signal came while it was starting.
  if (phase === 'stopping') void unit.stop()
  units.push(unit)
  record()
}

const main = async (): Promise<void> => {
  rotateLogs()
  // Left by a supervisor that was killed, or by a machine that was switched off: then none of the
  // recorded processes is alive, whoever has their pids now.
  const leftover = await endProcesses(readState(layout)?.children ?? [], LEFTOVER_DEADLINE_MS)
  if (leftover.length > 0) log('ended what an earlier run left', { leftover })
  clearState(layout)
  record()
  try {
    running = await bringUp(options, process.env, { step, onUnit, onChange: record, onEvent: log })
  } catch (error) {
    // Told to stop while coming up: whatever failed then failed because of that.
    if (ending !== undefined) return
    const message = error instanceof Error ? error.message : String(error)
    log('failed', { err: message })
    tell({ type: 'failed', message })
    return shutDown(1)
  }
  if (ending !== undefined) return
  phase = 'ready'
  record()
  tell({ type: 'ready' })
  setInterval(rotateLogs, ROTATE_EVERY_MS)
  // Somebody deleted var/ for a new beginning: without it `make down` could not find us.
  setInterval(() => {
    if (!existsSync(layout.stateFile)) void shutDown(0)
  }, CHECK_STATE_EVERY_MS)
}

await main()
