import type { HumanPrincipal } from '@guildhall/contracts'
import {
  getDefaultLease,
  getTodo,
  operation,
  ServiceError,
  setDefaultLease,
} from '@guildhall/contracts'
import { metrics } from '@guildhall/runtime'
import { ManualClock, waitFor } from '@guildhall/testing'
import t from 'tap'
import { z } from 'zod'
import { bind, type CallContext, createCaller, serveOperations } from '../src/index.ts'
import { openPrincipalReader, PRINCIPALS_REMEMBERED_MAX } from '../src/read-principal.ts'
import { log, setup } from './setup.ts'

const principal: HumanPrincipal = { kind: 'human', user_id: 7 }

const echo = operation({
  service: 'tasks',
  name: 'echo',
  family: 'todos',
  access: 'write',
  tool: true,
  summary: 'Echo.',
  input: z.strictObject({ text: z.string().max(5) }),
  output: z.strictObject({ text: z.string(), user_id: z.number(), key: z.string().nullable() }),
  errors: [],
})

const code = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
    return 'no error'
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error)
  }
}

t.test('a call carries principal and key, and brings errors back as they are', async (t) => {
  const { bus, connect } = await setup(t)
  const seen: CallContext[] = []
  const service = serveOperations(
    bus,
    [
      bind(echo, async (ctx, input) => {
        seen.push(ctx)
        if (input.text === 'boom') throw new Error('password=hunter2')
        if (input.text === 'no')
          throw new ServiceError('conflict', 'not now', { details: { a: 1 } })
        return {
          text: input.text,
          user_id: ctx.principal.user_id,
          key: ctx.idempotency_key ?? null,
        }
      }),
    ],
    { log },
  )
  await service.start()
  const caller = createCaller(await connect('mcp-gateway'))
  const options = { principal, idempotency_key: 'ключ', request_id: 'req_x' }
  t.strictSame(await caller.call(echo, { text: 'hi' }, options), {
    text: 'hi',
    user_id: 7,
    key: 'ключ',
  })
  t.equal(seen[0]?.request_id, 'req_x')
  t.equal(await code(caller.call(echo, { text: 'too long' }, options)), 'invalid_argument')
  t.equal(await code(caller.call(echo, { text: 'no' }, options)), 'conflict')
  t.equal(await code(caller.call(echo, { text: 'hi' }, {})), 'unauthenticated')
  try {
    await caller.call(echo, { text: 'boom' }, options)
    t.fail('expected an error')
  } catch (error) {
    t.equal((error as ServiceError).code, 'internal')
    t.notMatch(JSON.stringify((error as ServiceError).toBody('r')), /hunter2/)
  }
  await service.stop()
})

const agentWith = (tools: string[]) => ({
  kind: 'agent' as const,
  user_id: 7,
  agent_id: 1,
  agent_name: 'a',
  endpoint_id: 'ep_01ARZ3NDEKTSV4RRFFQ69G5FAV' as never, // a valid id, without minting one
  scope: {
    tools,
    queues: [],
    webhook_max: 0,
    webhook_source_types: [],
    webhook_queues: [],
    default_lease_ttl_seconds: null,
    require_fence: false,
  },
})

t.test('an agent gets only what it is granted, and never what is for humans', async (t) => {
  const { bus, connect } = await setup(t)
  const service = serveOperations(
    bus,
    [bind(echo, async (_ctx, input) => ({ text: input.text, user_id: 0, key: null }))],
    { log },
  )
  await service.start()
  t.teardown(() => service.stop())
  const caller = createCaller(await connect('mcp-gateway'))
  t.equal(
    await code(caller.call(echo, { text: 'x' }, { principal: agentWith(['echo']) })),
    'no error',
  )
  t.equal(
    await code(caller.call(echo, { text: 'x' }, { principal: agentWith(['claim']) })),
    'forbidden',
  )
})

t.test('nobody there is unavailable; somebody who comes in time answers', async (t) => {
  const { bus, connect } = await setup(t)
  const caller = createCaller(await connect('mcp-gateway'))
  const call = () => caller.call(getDefaultLease, {}, { principal, timeout_ms: 2_000 })
  t.equal(await code(call()), 'unavailable')
  const late = call()
  const service = serveOperations(
    bus,
    [
      bind(setDefaultLease, async () => {
        throw new ServiceError('internal', 'x')
      }),
    ],
    { log },
  )
  await service.start()
  t.equal(await code(late), 'unavailable', 'another operation is not this one')
  await service.stop()
})

t.test(
  'a call that its server died with is repeated with the same key, marked as a repeat',
  async (t) => {
    const { bus, connect } = await setup(t)
    const tries: { key: string | undefined; repeat: boolean }[] = []
    const service = serveOperations(
      bus,
      [
        bind(echo, async (ctx, input) => {
          tries.push({ key: ctx.idempotency_key, repeat: ctx.repeat })
          if (tries.length === 1) await new Promise(() => undefined)
          return { text: input.text, user_id: 7, key: null }
        }),
      ],
      { log },
    )
    await service.start()
    const caller = createCaller(await connect('mcp-gateway'))
    await caller.call(echo, { text: 'x' }, { principal, idempotency_key: 'k', timeout_ms: 300 })
    t.strictSame(tries, [
      { key: 'k', repeat: false },
      { key: 'k', repeat: true },
    ])
  },
)

t.test('while the bus is down calls are unavailable, and after it is back they work', async (t) => {
  const { bus, nats, connect } = await setup(t)
  const service = serveOperations(
    bus,
    [bind(echo, async (_ctx, input) => ({ text: input.text, user_id: 7, key: null }))],
    { log },
  )
  await service.start()
  t.teardown(() => service.stop())
  const caller = createCaller(await connect('mcp-gateway'))
  await nats.kill()
  t.equal(
    await code(caller.call(getTodo, { id: 'td_x' as never }, { principal, timeout_ms: 400 })),
    'unavailable',
  )
  await nats.restart()
  await waitFor(
    async () =>
      (await code(caller.call(echo, { text: 'x' }, { principal, timeout_ms: 500 }))) === 'no error',
    { what: 'the service to answer again' },
  )
})

t.test('a call whose caller has stopped waiting is dropped before any work', async (t) => {
  const { bus, connect } = await setup(t)
  const clock = new ManualClock(Date.now())
  let worked = 0
  const service = serveOperations(
    bus,
    [
      bind(echo, async (_ctx, input) => {
        worked += 1
        return { text: input.text, user_id: 7, key: null }
      }),
    ],
    { log, clock },
  )
  await service.start()
  t.teardown(() => service.stop())
  const caller = createCaller(await connect('mcp-gateway'))
  const call = () => code(caller.call(echo, { text: 'x' }, { principal, timeout_ms: 1_000 }))
  t.equal(await call(), 'no error')
  clock.set(Date.now() + 10_000)
  t.equal(await call(), 'deadline_exceeded')
  t.equal(worked, 1)
  t.match(await metrics.metrics(), 'guildhall_calls_expired_total{operation="echo"} 1')
  clock.set(Date.now() + 3_600_000)
  t.equal(await call(), 'no error', 'a clock that is an hour off says nothing about the call')
})

t.test('a caller is read once, cannot be changed, and is forgotten in time', async (t) => {
  const read = openPrincipalReader()
  const text = (user_id: number) => JSON.stringify({ kind: 'human', user_id })
  const first = read(text(1))
  t.strictSame(first, { kind: 'human', user_id: 1 })
  t.equal(read(text(1)), first)
  t.throws(() => Object.assign(first, { user_id: 2 }))
  const agent = read(JSON.stringify(agentWith(['claim'])))
  t.throws(() => agent.kind === 'agent' && agent.scope.tools.push('retry_todo'))
  for (let i = 0; i < PRINCIPALS_REMEMBERED_MAX; i += 1) read(text(i + 2))
  t.not(read(text(1)), first)
  t.throws(() => read('{"kind":"human"}'), { code: 'internal' })
})
