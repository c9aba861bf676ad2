import { chmodSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { applyTopology, connectBus, durables, publish } from '@guildhall/bus'
import {
  type CommandFinished,
  type CommandRequested,
  commandFinished,
  commandRequested,
} from '@guildhall/contracts'
import { createLogger, systemClock } from '@guildhall/runtime'
import { type NatsServer, startNats, temporaryDirectory, waitFor } from '@guildhall/testing'
import type { Test } from 'tap'
import { identityFor } from '../src/identity.ts'
import { composeVerifier } from '../src/on-command.ts'

const log = createLogger({ service: 'verifier-test', level: 'silent' })

/** Whom commands run as here: `nobody` when the tests run as root, else whoever runs the tests. */
export const identity = identityFor({}, process.getuid?.())
export const PATH = '/usr/local/bin:/usr/bin:/bin'

export const newRoot = (): string => {
  const root = temporaryDirectory('verifier')
  chmodSync(root, 0o755)
  return root
}

let shared: Promise<NatsServer> | undefined
const sharedNats = (): Promise<NatsServer> => {
  shared ??= startNats()
  return shared
}

let tasks = 0

interface SetupOptions {
  readonly nats?: NatsServer
  readonly at_once?: number
  readonly root?: string
  /** False: a process does the work. */
  readonly start?: boolean
}

/** A running verifier with a root of its own, and the tasks service around it. */
export const setup = async (
  t: Test,
  { nats, at_once = 2, root = newRoot(), start = true }: SetupOptions = {},
) => {
  const { url } = nats ?? (await sharedNats())
  const bus = await connectBus({ url, service: 'verifier', log })
  t.teardown(() => bus.close())
  await applyTopology(bus)
  const parts = composeVerifier({
    bus,
    clock: systemClock,
    log,
    root,
    path: PATH,
    identity,
    at_once,
  })
  const stop = async () => {
    for (const part of [...parts].reverse()) await part.stop()
  }
  if (start) {
    t.teardown(stop)
    for (const part of parts) await part.start()
  }

  /** Answers the task's id. */
  const request = async (
    argv: readonly string[],
    options: Partial<CommandRequested> = {},
  ): Promise<number> => {
    tasks += 1
    const event: CommandRequested = {
      v: 1,
      user_id: 7,
      goal_id: 9,
      task_id: tasks,
      revision: 3,
      argv: [...argv],
      cwd: '',
      timeout_sec: 20,
      env: {},
      ...options,
    }
    await publish(bus, commandRequested.subject, event, { msg_id: `requested-${event.task_id}` })
    return event.task_id
  }
  const finished = async (task_id: number): Promise<CommandFinished[]> => {
    const { state } = await bus.jsm.streams.info('EVENTS')
    const found: CommandFinished[] = []
    for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
      const { subject, data } = await bus.jsm.streams.getMessage('EVENTS', { seq })
      if (subject !== commandFinished.subject) continue
      const event = commandFinished.schema.parse(JSON.parse(Buffer.from(data).toString('utf8')))
      if (event.task_id === task_id) found.push(event)
    }
    return found
  }
  const verdict = (task_id: number): Promise<CommandFinished> =>
    waitFor(async () => (await finished(task_id))[0], {
      what: `the verdict on task ${task_id}`,
      timeout_ms: 60_000,
    })
  return {
    bus,
    root,
    goal: `${root}/7/9`,
    stop,
    request,
    finished,
    verdict,
    run: async (argv: readonly string[], options?: Partial<CommandRequested>) =>
      await verdict(await request(argv, options)),
    consumer: () => bus.jsm.consumers.info('EVENTS', durables.verifierCommands),
  }
}

/** Processes whose arguments hold this text and that have not ended. */
export const processesWith = async (text: string): Promise<string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found: string[] = []
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (line.includes(text)) found.push(`${pid} ${line.replaceAll('\u0000', ' ')}`)
  }
  return found
}
