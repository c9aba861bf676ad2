import { randomBytes, randomUUID } from 'node:crypto'
import { applyTopology, type Bus, type Caller, connectBus, createCaller } from '@guildhall/bus'
import {
  type AgentPrincipal,
  claim,
  claimNext,
  complete,
  createTodo,
  defaultGrants,
  type EndpointScope,
  fail,
  getTodo,
  type HumanPrincipal,
  heartbeat,
  listTodos,
  newEndpointId,
  type Operation,
  type OutputOf,
  oldestPending,
  release,
  retryTodo,
  ServiceError,
} from '@guildhall/contracts'
import { connectDb, type Db, migrate, migrationsHash } from '@guildhall/db'
import { createLogger, type Part } from '@guildhall/runtime'
import { createDatabase, ManualClock, type NatsServer, startNats } from '@guildhall/testing'
import type { Test } from 'tap'
import type { z } from 'zod'
import { composeTasks } from '../src/compose.ts'
import { awaitProjection } from '../src/consumers/projection.ts'
import type { Tasks } from '../src/context.ts'
import { migrations } from '../src/migrations/index.ts'
import { sweepOnce } from '../src/reconcilers/sweep.ts'

const log = createLogger({ service: 'tasks-test', level: 'silent' })

/** One server for a test file; each test has owners of its own, so tests do not meet. */
let server: Promise<NatsServer> | undefined

const sharedServer = (): Promise<NatsServer> => {
  server ??= startNats()
  return server
}

export const stopServer = async (): Promise<void> => {
  await (await server)?.stop()
}

let owners = 100

export interface Worker {
  readonly principal: AgentPrincipal
  call<Op extends Operation>(
    op: Op,
    input: Record<string, unknown>,
    key?: string,
  ): Promise<OutputOf<Op>>
  claim(input: Record<string, unknown>): Promise<OutputOf<typeof claim>>
  next(input?: Record<string, unknown>): Promise<OutputOf<typeof claimNext>>
  heartbeat(input: Record<string, unknown>): Promise<OutputOf<typeof heartbeat>>
  complete(input: Record<string, unknown>): Promise<OutputOf<typeof complete>>
  fail(input: Record<string, unknown>): Promise<OutputOf<typeof fail>>
  release(input: Record<string, unknown>): Promise<OutputOf<typeof release>>
  retry(input: Record<string, unknown>): Promise<OutputOf<typeof retryTodo>>
  create(input?: Record<string, unknown>): Promise<OutputOf<typeof createTodo>>
  list(input?: Record<string, unknown>): Promise<OutputOf<typeof listTodos>>
  get(id: string, input?: Record<string, unknown>): Promise<OutputOf<typeof getTodo>>
  oldest(limit: number): Promise<OutputOf<typeof oldestPending>>
}

export interface Bundle {
  readonly bus: Bus
  readonly db: Db
  readonly tasks: Tasks
  readonly clock: ManualClock
  readonly caller: Caller
  readonly owner_id: number
  readonly human: Worker
  worker(scope?: Partial<EndpointScope>, agent_id?: number): Worker
  /** A second instance on the same bus and database: calls are shared between the two. */
  addReplica(): Promise<Tasks>
  sweep(): Promise<void>
  projected(): Promise<void>
}

export const workerFor = (caller: Caller, principal: AgentPrincipal | HumanPrincipal): Worker => {
  const call = async <Op extends Operation>(op: Op, input: Record<string, unknown>, key?: string) =>
    await caller.call(op, input as z.input<Op['input']>, {
      principal,
      idempotency_key: key ?? randomUUID(),
      timeout_ms: 60_000,
    })
  return {
    principal: principal as AgentPrincipal, // tests of humans do not look at it
    call,
    claim: (input) => call(claim, input),
    next: (input = {}) => call(claimNext, input),
    heartbeat: (input) => call(heartbeat, input),
    complete: (input) => call(complete, input),
    fail: (input) => call(fail, input),
    release: (input) => call(release, input),
    retry: (input) => call(retryTodo, input),
    create: (input = {}) => call(createTodo, { queue: 'inbox', title: 'a todo', ...input }),
    list: (input = {}) => call(listTodos, input),
    get: (id, input = {}) => call(getTodo, { id, ...input }),
    oldest: (limit) => call(oldestPending, { limit }),
  }
}

/** What a test does not call itself, when it wants it. */
const isPermanent = (part: Part): boolean => !['sweep', 'holds', 'retention'].includes(part.name)

const migrateUrl = async (url: string): Promise<void> => {
  const db = connectDb(url, { log })
  await migrate(db, migrations)
  await db.destroy()
}

const database = async (
  url: string | undefined,
): Promise<{ readonly url: string; drop(): Promise<void> }> => {
  if (url !== undefined) {
    await migrateUrl(url)
    return { url, drop: async () => undefined }
  }
  const hash = migrationsHash(migrations)
  return await createDatabase({ template: { name: 'tasks', hash, migrate: migrateUrl } })
}

interface SetupOptions {
  /** For tests that look at everything in the bucket, also at what other tests left there. */
  readonly own_server?: boolean
  /** For tests that take the database away: an empty one, in a cluster of their own. */
  readonly database_url?: string
}

export const setup = async (
  t: Test,
  { own_server = false, database_url }: SetupOptions = {},
): Promise<Bundle> => {
  const nats = own_server ? await startNats() : await sharedServer()
  if (own_server) t.teardown(() => nats.stop())
  const bus = await connectBus({ url: nats.url, service: 'tasks', log })
  await applyTopology(bus)
  const { url, drop } = await database(database_url)
  const db = connectDb(url, { log })
  const clock = new ManualClock(Date.now())
  const lease_token_key = randomBytes(32)
  const { tasks, parts } = composeTasks({ bus, db, clock, log, lease_token_key })
  const running: Part[] = parts.filter(isPermanent)
  for (const part of running) await part.start()
  t.teardown(async () => {
    for (const part of running.reverse()) await part.stop()
    await db.destroy()
    await bus.close()
    await drop()
  })
  const caller = createCaller(bus)
  owners += 1
  const owner_id = owners
  let agents = owner_id * 100
  return {
    bus,
    db,
    tasks,
    clock,
    caller,
    owner_id,
    human: workerFor(caller, { kind: 'human', user_id: owner_id }),
    worker: (scope = {}, agent_id) => {
      agents += 1
      return workerFor(caller, {
        kind: 'agent',
        user_id: owner_id,
        agent_id: agent_id ?? agents,
        agent_name: 'tester',
        endpoint_id: newEndpointId(Date.now()),
        scope: {
          tools: [...defaultGrants],
          queues: ['inbox', 'reviews'],
          webhook_max: 0,
          webhook_source_types: [],
          webhook_queues: [],
          default_lease_ttl_seconds: null,
          require_fence: false,
          ...scope,
        },
      })
    },
    addReplica: async () => {
      const other_bus = await connectBus({ url: nats.url, service: 'tasks', log })
      const other = composeTasks({ bus: other_bus, db, clock, log, lease_token_key })
      const started = other.parts.filter(isPermanent)
      for (const part of started) await part.start()
      t.teardown(async () => {
        for (const part of started.reverse()) await part.stop()
        await other_bus.close()
      })
      return other.tasks
    },
    sweep: () => sweepOnce(tasks),
    projected: async () => {
      if (!(await awaitProjection(bus, 10_000))) throw new Error('the projection is behind')
    },
  }
}

/** Runs after the projection has seen all, as the periodic sweep would a moment later. */
export const lapse = async (s: Bundle, seconds: number): Promise<void> => {
  await s.projected()
  s.clock.advance(seconds * 1_000)
  await s.sweep()
  await s.projected()
}

export const rejectsWith = async (
  t: Test,
  promise: Promise<unknown>,
  code: string,
): Promise<ServiceError> => {
  try {
    await promise
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    t.equal(error.code, code)
    return error
  }
  t.fail(`expected ${code}`)
  throw new Error(`expected ${code}`)
}
