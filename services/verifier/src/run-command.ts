import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommandFinished, ServiceError } from '@guildhall/contracts'
import { type Identity, Refused } from './jail.ts'
import { NICENESS, OUTPUT_CLOSE_WAIT_MS, OUTPUT_READ_MAX_BYTES } from './limits.ts'
import { collectOutput, type Output } from './output.ts'
import { killTree, MARK_NAME, newMark } from './process-tree.ts'

/**
 * Runs one command: argv as it is, without a shell; an environment of its own; no input; in a
 * session of its own, of which nothing is left afterwards, however it ended.
 */
export interface Command {
  readonly argv: readonly string[]
  /** The real path of an existing folder. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeout_ms: number
}

interface Surroundings {
  readonly path: string
  readonly identity: Identity | undefined
  /** Aborted when this worker stops: then nobody is told how the command ended. */
  readonly signal: AbortSignal
}

export type Verdict = Pick<CommandFinished, 'outcome' | 'exit_code' | 'output' | 'output_truncated'>

export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

const OWN_NAME = /^GUILDHALL_[A-Z0-9_]{1,100}$/
/** The machine has no room for another process now, and may have later. */
const NO_ROOM = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'])

/** Nothing of ours gets in: what a command may know is listed here, name by name. */
const environmentOf = ({ env, cwd }: Command, path: string, mark: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => OWN_NAME.test(name))),
  PATH: path,
  HOME: cwd,
  LANG: 'C.UTF-8',
  [MARK_NAME]: mark,
})

const launch = async (
  command: Command,
  { path, identity }: Surroundings,
  mark: string,
): Promise<ChildProcess> => {
  const [program = '', ...args] = command.argv
  if (program === '') throw new Refused('the command is empty')
  try {
    const child = spawn(program, args, {
      cwd: command.cwd,
      env: environmentOf(command, path, mark),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      shell: false,
      ...identity,
    })
    await once(child, 'spawn')
    return child
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    if (NO_ROOM.has(String(error.code))) {
      throw new ServiceError('unavailable', 'no room for another process', { cause: error })
    }
    // A program that is not there, an argument with NUL, an argument list that is too long.
    throw new Refused(`the command cannot be started: ${String(error.code)}`)
  }
}

const lower = (pid: number): void => {
  try {
    setPriority(pid, NICENESS)
  } catch {
    // It ended before.
  }
}

type End = 'exited' | 'timed_out' | 'too_much_output' | 'interrupted'

/** The first of what can end it. */
const awaitEnd = async (
  child: ChildProcess,
  command: Command,
  output: Output,
  signal: AbortSignal,
): Promise<End> => {
  const timer = new AbortController()
  const interrupted = new Promise<End>((resolve) => {
    if (signal.aborted) resolve('interrupted')
    signal.addEventListener('abort', () => resolve('interrupted'), { signal: timer.signal })
  })
  const overflown = new Promise<End>((resolve) => {
    const add = (chunk: Buffer): void => {
      output.add(chunk)
      if (output.bytes > OUTPUT_READ_MAX_BYTES) resolve('too_much_output')
    }
    child.stdout?.on('data', add)
    child.stderr?.on('data', add)
  })
  const exited = new Promise<End>((resolve) => {
    child.once('exit', () => resolve('exited'))
    if (child.exitCode !== null || child.signalCode !== null) resolve('exited')
  })
  const overdue = delay<End>(command.timeout_ms, 'timed_out', { signal: timer.signal })
  overdue.catch(() => undefined) // it ends so when something else is first
  try {
    return await Promise.race([interrupted, overflown, exited, overdue])
  } finally {
    timer.abort()
  }
}

/** What is still in the pipes, and then no more: a pipe may have been handed to anybody. */
const closePipes = async (child: ChildProcess, closed: Promise<unknown>): Promise<void> => {
  const timer = new AbortController()
  const overdue = delay(OUTPUT_CLOSE_WAIT_MS, undefined, { signal: timer.signal })
  overdue.catch(() => undefined)
  await Promise.race([closed, overdue]).finally(() => timer.abort())
  child.stdout?.destroy()
  child.stderr?.destroy()
}

const verdictOf = (end: End, child: ChildProcess, output: Output): Verdict => {
  const { exitCode } = child
  if (end === 'timed_out') return { outcome: 'timed_out', exit_code: null, ...output.text() }
  return {
    outcome: end === 'exited' && exitCode === 0 ? 'passed' : 'failed',
    exit_code: end === 'exited' ? exitCode : null,
    ...output.text(),
  }
}

/** Throws `Refused` when it could not be started, `Interrupted` when this worker stops. */
export const runCommand = async (command: Command, around: Surroundings): Promise<Verdict> => {
  if (around.signal.aborted) throw new Interrupted()
  const mark = newMark()
  const child = await launch(command, around, mark)
  const { pid } = child
  if (pid === undefined) throw new Error('a process that was started has no id')
  const closed = once(child, 'close').catch(() => undefined)
  lower(pid)
  const output = collectOutput()
  const end = await awaitEnd(child, command, output, around.signal)
  await killTree(pid, mark)
  await closePipes(child, closed)
  if (end === 'interrupted') throw new Interrupted()
  return verdictOf(end, child, output)
}
