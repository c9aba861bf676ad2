import { type Endpoint, editEndpoint, type InputOf, revokeEndpoint } from '@guildhall/contracts'
import t from 'tap'
import { type Setup, setup } from './setup.ts'

type Changes = Partial<InputOf<typeof editEndpoint>>

const edit = (s: Setup, endpoint_id: string, changes: Changes, idempotency_key?: string) =>
  s.call(editEndpoint, { endpoint_id, ...changes }, { principal: s.ann, idempotency_key })

t.test('an edit changes what it names, and the gateway sees it', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ default_lease_ttl_seconds: 600 })
  const changes = { queues: ['reviews'], require_fence: true, allowed_cidrs: ['10.0.0.0/8'] }
  const edited = await edit(s, endpoint.endpoint_id, changes)

  t.strictSame(edited, { ...endpoint, ...changes, version: 2 })
  t.strictSame(await s.identity.endpoint(endpoint.endpoint_id), edited)
})

t.test('an edit clears only what is given as null', async (t) => {
  const s = await setup(t)
  const expires_at = new Date(s.clock.now() + 1_000).toISOString()
  const { endpoint } = await s.vend({ default_lease_ttl_seconds: 600, expires_at })
  const cleared = { default_lease_ttl_seconds: null, expires_at: null }

  t.strictSame(await edit(s, endpoint.endpoint_id, { name: 'day shift' }), {
    ...endpoint,
    name: 'day shift',
    version: 2,
  })
  t.strictSame(await edit(s, endpoint.endpoint_id, cleared), {
    ...endpoint,
    ...cleared,
    name: 'day shift',
    version: 3,
  })
})

t.test('an edit that names nothing changes nothing', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()

  t.strictSame(await edit(s, endpoint.endpoint_id, {}), endpoint)
})

t.test('granting create_webhook later gives a ceiling under which it works', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend({ tools: ['claim'] })
  const granted = await edit(s, endpoint.endpoint_id, { tools: ['claim', 'create_webhook'] })
  const closed = await edit(s, endpoint.endpoint_id, { webhook_max: 0 })
  const again = await edit(s, endpoint.endpoint_id, { tools: ['create_webhook'] })

  t.strictSame(
    [endpoint, granted, closed, again].map(({ webhook_max }) => webhook_max),
    [0, 5, 0, 0],
  )
})

const refusedChanges: { what: string; changes: Changes; message: RegExp }[] = [
  { what: 'an unknown tool', changes: { tools: ['fly'] }, message: /unknown tool "fly"/ },
  {
    what: 'an unusable ceiling',
    changes: { webhook_queues: [] },
    message: /webhook_max above 0 needs/,
  },
  {
    what: 'an expiry that has passed',
    changes: { expires_at: '2020-01-01T00:00:00Z' },
    message: /must lie in the future/,
  },
  { what: 'a blank name', changes: { name: ' ' }, message: /name: a name needs/ },
  {
    what: 'a lease that is too short',
    changes: { default_lease_ttl_seconds: 59 },
    message: /default_lease_ttl_seconds/,
  },
]

for (const { what, changes, message } of refusedChanges) {
  t.test(`an edit to ${what} is refused and changes nothing`, async (t) => {
    const s = await setup(t)
    const { endpoint } = await s.vend()

    await t.rejects(edit(s, endpoint.endpoint_id, { queues: ['x'], ...changes }), {
      code: 'invalid_argument',
      message,
    })
    t.strictSame(await edit(s, endpoint.endpoint_id, {}), endpoint)
  })
}

t.test('a revoked endpoint cannot be edited', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  await s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })

  await t.rejects(edit(s, endpoint_id, { name: 'x' }), { code: 'conflict' })
  await t.rejects(edit(s, endpoint_id, {}), { code: 'conflict' })
})

t.test(
  '50 parallel edits give contiguous versions, and the gateway ends at the last',
  async (t) => {
    const s = await setup(t)
    const { endpoint } = await s.vend()
    const { endpoint_id } = endpoint
    const edited = await Promise.all(
      Array.from({ length: 50 }, (_, i) => edit(s, endpoint_id, { name: `edit ${i}` })),
    )
    const versions = edited.map(({ version }) => version).sort((a, b) => a - b)
    const last = edited.find(({ version }) => version === 51) as Endpoint // the versions hold it

    t.strictSame(
      versions,
      Array.from({ length: 50 }, (_, i) => i + 2),
    )
    t.strictSame(await s.identity.endpoint(endpoint_id), last)
  },
)

t.test('a repeat of an edit does not undo what came after it', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id } = endpoint
  await edit(s, endpoint_id, { name: 'first' }, 'key-1')
  const second = await edit(s, endpoint_id, { name: 'second' })
  const repeated = await edit(s, endpoint_id, { name: 'first' }, 'key-1')

  t.strictSame(repeated, second)
  await t.rejects(edit(s, endpoint_id, { name: 'third' }, 'key-1'), {
    code: 'idempotency_conflict',
  })
})
