import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withFileLock } from './managed-process.ts'
import { waitFor } from './wait-for.ts'

// One PostgreSQL for all test files of a run. It belongs to a small daemon, which the first test
// file starts and which ends by itself a while after the last one is gone. Who uses it is counted
// in open connections to its socket: the kernel closes those of a test that was killed.

const DAEMON = fileURLToPath(new URL('./shared-cluster-daemon.js', import.meta.url))
const START_TIMEOUT_MS = 60_000
const RETRY_MS = 100

interface SharedCluster {
  /** A role that may create databases, but is no superuser. */
  adminUrl: string
  close(): void
}

/** One per user and checkout, so that two checkouts never meet in one daemon. */
const daemonDirectory = (): string => {
  const checkout = createHash('sha256').update(DAEMON).digest('hex').slice(0, 12)
  const uid = process.getuid?.() ?? 0
  const path = join(tmpdir(), `guildhall-shared-${uid}-${checkout}`)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { uid: owner, mode } = lstatSync(path)
  // The name can be foreseen: on a shared machine somebody else may have made it first.
  if (owner !== uid || (mode & 0o077) !== 0) throw new Error(`${path} is not private to this user`)
  return path
}

export const socketPath = (directory: string): string => join(directory, 'socket')

/** The daemon sends one line, its admin URL, as soon as its cluster can be used. */
const attach = (directory: string): Promise<{ socket: Socket; adminUrl: string }> =>
  new Promise((resolve, reject) => {
    const socket = connect(socketPath(directory))
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      received += text
      if (received.endsWith('\n')) resolve({ socket, adminUrl: received.trim() })
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the daemon of the test cluster closed the line')))
  })

const startDaemon = (directory: string): { running: boolean } => {
  const log = openSync(join(directory, 'log'), 'a', 0o600)
  // The lock makes it one daemon, whoever starts it and however many do at once.
  const locked = withFileLock(join(directory, 'lock'), process.execPath, [DAEMON, directory])
  const daemon = spawn(locked.command, locked.args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
    cwd: '/',
  })
  const state = { running: true }
  daemon.once('exit', () => {
    state.running = false
  })
  daemon.once('error', () => {
    state.running = false
  })
  daemon.unref()
  return state
}

export const joinSharedCluster = async (): Promise<SharedCluster> => {
  const directory = daemonDirectory()
  let daemon = { running: false }
  const tryToJoin = async () => {
    try {
      return await attach(directory)
    } catch (error) {
      if (!daemon.running) daemon = startDaemon(directory)
      throw error
    }
  }
  try {
    const { socket, adminUrl } = await waitFor(tryToJoin, {
      timeout_ms: START_TIMEOUT_MS,
      interval_ms: RETRY_MS,
      what: 'the shared test cluster',
    })
    // Counts as a user for as long as this process lives, without keeping it alive.
    socket.unref()
    return { adminUrl, close: () => socket.destroy() }
  } catch (error) {
    const log = readFileSync(join(directory, 'log'), 'utf8').slice(-2_000)
    throw new Error(`the shared test cluster did not start:\n${log}`, { cause: error })
  }
}
