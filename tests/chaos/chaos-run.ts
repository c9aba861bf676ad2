import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type System, temporaryDirectory } from '@guildhall/testing'
import type { AgentOptions } from './agent.ts'
import { openAuditor } from './auditor.ts'
import { check } from './checker.ts'
import { type Counts, countHistory } from './counts.ts'
import { runFaults } from './faults.ts'
import { openHistory, readHistory } from './history.ts'
import { openHttp } from './http.ts'
import { openMcp } from './mcp.ts'
import { counter, todoProducer, webhookProducer } from './producers.ts'
import { seededRandom } from './random.ts'
import { createWebhook, REPLICAS, startAll, vend } from './stage.ts'
import type { Violation } from './violation.ts'
import { runWorker } from './worker.ts'
import type { World } from './world.ts'

/** One run: a system, actors, faults; then quiet, the rest worked off, everything read; the verdict. */

interface ChaosOptions {
  readonly seed: number
  /** How long faults happen. */
  readonly seconds: number
  readonly file: string
  readonly log: (text: string) => void
  /** Faults that do not happen. */
  readonly skip?: (name: string) => boolean
  readonly drain_max_ms?: number
  /** More environment of tasks, to break it on purpose. */
  readonly tasks_env?: NodeJS.ProcessEnv
}

export interface ChaosResult {
  readonly violations: readonly Violation[]
  readonly counts: Counts
  readonly faults: readonly string[]
}

const ENDPOINTS = 4
const WORKERS = 12
const WEBHOOKS_PER_SECOND = 4
const TODOS_PER_SECOND = 3
/** A failure is retried after half a minute, so that only early ones come round within a run. */
const FAILING_SHARE = 0.4
const DRAIN_MAX_MS = 120_000
const PROGRESS_MS = 5_000

const workersOf = async (system: System): Promise<AgentOptions[]> => {
  const tokens: string[] = []
  for (let i = 0; i < ENDPOINTS; i += 1) tokens.push(await vend(system, `agent-${i}`))
  const [alone = '', ...shared] = tokens
  const many = Array.from({ length: WORKERS }, (_, i): AgentOptions => {
    return { actor: `worker-${i}`, token: shared[i % shared.length] ?? '', sends_token: true }
  })
  return [...many, { actor: 'careless-worker', token: alone, sends_token: false }]
}

const isFinished = (row: { state: string; dead_letter: boolean }): boolean =>
  row.state === 'done' || row.dead_letter

/** Waits until nothing is left to do, or no longer; what is left then is a finding. */
const drain = async (world: World, token: string, { log, drain_max_ms }: ChaosOptions) => {
  const auditor = openAuditor(world, token)
  const until = performance.now() + (drain_max_ms ?? DRAIN_MAX_MS)
  let shown = -1
  while (performance.now() < until) {
    const rows = (await auditor.list()) ?? []
    const left = rows.filter((row) => !isFinished(row)).length
    if (left !== shown) log(`drain: ${left} of ${rows.length} todos are left`)
    shown = left
    if (rows.length > 0 && left === 0) break
    await sleep(1_000)
  }
  return auditor
}

const runActors = async (world: World, options: ChaosOptions, clock_files: string[]) => {
  const { seed, seconds, log, skip } = options
  const { system, history } = world
  const random = seededRandom(seed)
  const workers = await workersOf(system)
  const began = performance.now()
  const working = workers.map((worker) => runWorker(world, random.fork(worker.actor), worker))
  const names = { webhook: counter('w'), todo: counter('c') }
  const token = workers[1]?.token ?? ''
  const producing = [
    webhookProducer(world, random.fork('provider'), {
      actor: 'provider',
      per_second: WEBHOOKS_PER_SECOND,
      name: names.webhook,
    }),
    todoProducer(world, random.fork('dispatcher'), {
      actor: 'dispatcher',
      token,
      per_second: TODOS_PER_SECOND,
      name: names.todo,
    }),
  ]
  const noMoreFailures = (): void => {
    world.may_fail = false
  }
  setTimeout(noMoreFailures, seconds * 1_000 * FAILING_SHARE).unref()
  const goesOn = (): boolean => performance.now() - began < seconds * 1_000
  await runFaults(
    { system, history, random: random.fork('faults'), clock_files, log },
    goesOn,
    skip,
  )
  world.phase = 'drain'
  history.mark('faults-over')
  log('no more faults')
  await Promise.all(producing)
  const auditor = await drain(world, token, options)
  world.phase = 'over'
  await Promise.all(working)
  await auditor.audit()
}

export const judge = (file: string): ChaosResult => {
  const lines = readHistory(file)
  const faults = lines.flatMap((line) =>
    line.kind === 'fault' && line.phase === 'begin' ? [line.what] : [],
  )
  return { violations: check(lines), counts: countHistory(lines), faults }
}

export const runChaos = async (options: ChaosOptions): Promise<ChaosResult> => {
  const { seed, seconds, file, log, tasks_env = {} } = options
  const directory = temporaryDirectory('chaos-clocks')
  const clock_files = Array.from({ length: REPLICAS }, (_, i) => join(directory, `tasks-${i}`))
  for (const clock_file of clock_files) writeFileSync(clock_file, '0')
  log('starting the system')
  const system = await startAll((index) => clock_files[index] ?? '', tasks_env)
  const history = openHistory(file)
  const http = openHttp()
  const progress = setInterval(() => {
    const made = ['webhook', 'create_todo', 'claim_next', 'claim', 'heartbeat', 'complete']
    log(made.map((name) => `${name} ${history.succeeded(name)}`).join(', '))
  }, PROGRESS_MS)
  const world: World = {
    system,
    history,
    http,
    mcp: openMcp(http, history),
    webhook: await createWebhook(system),
    phase: 'chaos',
    may_fail: true,
    recent: [],
  }
  try {
    history.mark('begin', `seed ${seed}, ${seconds} s, nats-server ${system.nats.version}`)
    await runActors(world, options, clock_files)
    history.mark('end')
  } finally {
    world.phase = 'over'
    clearInterval(progress)
    history.close()
    http.close()
    await system.stop()
  }
  return judge(file)
}
