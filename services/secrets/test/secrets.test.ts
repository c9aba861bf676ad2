import {
  listSecrets,
  noticePosted,
  revokeSecret,
  rotateSecret,
  secretChanged,
  setSecret,
} from '@guildhall/contracts'
import t from 'tap'
import { SECRETS_PER_SCOPE_MAX } from '../src/limits.ts'
import { findWithinReach, useSecret } from '../src/store/secrets.ts'
import { databaseText, eventsOf, newOwner, refusal, type Setup, setup } from './setup.ts'

const VALUE = 'correct-horse-battery'

/** What a call would use, as nothing outside of the service can see it. */
const opened = async (s: Setup, name: string, agent_id: number | null, task_id: number | null) => {
  const reach = { user_id: s.owner.user_id, agent_id, task_id }
  const row = await findWithinReach(s.db, reach, name)
  if (row === undefined) return undefined
  const used = await useSecret(s.db, row, new Date(s.clock.now()))
  return used && s.deps.vault.open(used, used).toString('utf8')
}

const activeRows = (s: Setup, name: string) =>
  s.db('secrets').where({ name, user_id: s.owner.user_id }).whereNull('revoked_at')

t.test('33 names are one however they are written, and bad ones are refused', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const stored = await s.set('user', user_id, 'api_key', VALUE, ['api.example.com'])
  t.strictSame(stored, {
    scope_type: 'user',
    scope_id: user_id,
    name: 'API_KEY',
    version: 1,
    hosts: ['api.example.com'],
    created_at: new Date(s.clock.now()).toISOString(),
  })
  t.equal((await s.set('user', user_id, 'Token1', VALUE)).name, 'TOKEN1')
  for (const name of ['', 'BAD-NAME', 'with space', 'dot.name', 'schlüssel', 'a/b']) {
    t.match(await refusal(s.set('user', user_id, name, VALUE)), { code: 'invalid_argument' }, name)
  }
  const { secrets } = await s.call(listSecrets, { scope_type: 'user', scope_id: user_id }, s.owner)
  t.strictSame(secrets, [
    { name: 'API_KEY', available: true, last_used_at: null },
    { name: 'TOKEN1', available: true, last_used_at: null },
  ])
})

t.test('33 values come back as they were, and unusable ones are refused', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  for (const value of ['pässwörter-🔑', 'x'.repeat(8_192), 'y'.repeat(65_536), ' a\nb\0cdefgh\t']) {
    await s.set('user', user_id, 'KEY', value)
    t.equal(await opened(s, 'KEY', null, null), value)
  }
  const refused = ['', 'short', '        ', '1234567 ', '\ud800abcdefgh', 'é'.repeat(40_000)]
  for (const value of refused) {
    const error = await refusal(s.set('user', user_id, 'OTHER', value))
    t.match(error, { code: 'invalid_argument' })
    if (value.length > 1) t.notMatch(JSON.stringify(error), value)
  }
  t.equal(await opened(s, 'OTHER', null, null), undefined, 'nothing was stored')
})

t.test('34 the task comes before the agent and the agent before the user', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  await s.agent(s.owner, 42)
  await s.task(s.owner, 7)
  await s.set('user', user_id, 'OPENAI_API_KEY', 'value-of-user')
  await s.set('agent', 42, 'OPENAI_API_KEY', 'value-of-agent')
  await s.set('task', 7, 'OPENAI_API_KEY', 'value-of-task')
  t.equal(await opened(s, 'OPENAI_API_KEY', 42, 7), 'value-of-task')
  t.equal(await opened(s, 'OPENAI_API_KEY', 41, 7), 'value-of-task')
  const used = async (scope_type: 'user' | 'agent' | 'task', scope_id: number) =>
    (await s.call(listSecrets, { scope_type, scope_id }, s.owner)).secrets[0]?.last_used_at
  t.equal(await used('task', 7), new Date(s.clock.now()).toISOString())
  t.equal(await used('agent', 42), null, 'only what was used is noted')
  t.equal(await opened(s, 'OPENAI_API_KEY', 42, null), 'value-of-agent')
  t.equal(await used('user', user_id), null)
  t.equal(await opened(s, 'OPENAI_API_KEY', 41, null), 'value-of-user')
  t.equal(await opened(s, 'OPENAI_API_KEY', null, null), 'value-of-user')
})

t.test('34 setting again replaces, revoking ends, and both say what happened', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const place = { scope_type: 'user', scope_id: user_id, name: 'key' } as const
  await s.set('user', user_id, 'KEY', VALUE, ['api.example.com'])
  t.equal((await s.set('user', user_id, 'KEY', 'another-value')).version, 2)
  t.equal((await activeRows(s, 'KEY')).length, 1)
  t.equal((await s.db('secrets').where({ name: 'KEY' })).length, 2)
  t.equal(await opened(s, 'KEY', null, null), 'another-value')
  t.strictSame(await s.call(revokeSecret, place, s.owner), { ...place, name: 'KEY', revoked: true })
  t.equal(await opened(s, 'KEY', null, null), undefined)
  t.match(await refusal(s.call(revokeSecret, place, s.owner)), {
    code: 'conflict',
    details: { error: 'ErrAlreadyRevoked' },
  })
  t.match(await refusal(s.call(revokeSecret, { ...place, name: 'never' }, s.owner)), {
    code: 'not_found',
  })
  const scope = { scope_type: 'user', scope_id: user_id } as const
  t.strictSame(await s.call(listSecrets, scope, s.owner), { secrets: [] })
  const sealed = await s.db('secrets').whereNotNull('sealed')
  t.strictSame(sealed, [], 'what is revoked is destroyed')
  const events = await eventsOf(s.bus, s.owner)
  t.strictSame(
    events.map(({ subject, payload }) => [subject, payload.change, payload.name]),
    [
      [secretChanged.subject, 'set', 'KEY'],
      [secretChanged.subject, 'set', 'KEY'],
      [secretChanged.subject, 'revoked', 'KEY'],
    ],
  )
})

t.test('a rotation keeps the hosts unless others are named, and needs a secret', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const place = { scope_type: 'user', scope_id: user_id, name: 'KEY' } as const
  const rotate = (more: { value: string; hosts?: string[] }) =>
    s.call(rotateSecret, { ...place, ...more }, s.owner)
  t.match(await refusal(rotate({ value: VALUE })), { code: 'not_found' })
  await s.set('user', user_id, 'KEY', VALUE, ['api.example.com', 'api.example.com'])
  t.match(await rotate({ value: 'second-value' }), { version: 2, hosts: ['api.example.com'] })
  t.match(await rotate({ value: 'third-value', hosts: ['*.example.org'] }), {
    version: 3,
    hosts: ['*.example.org'],
  })
  await s.call(revokeSecret, place, s.owner)
  t.match(await refusal(rotate({ value: VALUE })), { code: 'not_found' })
  t.equal((await s.set('user', user_id, 'KEY', VALUE)).version, 4, 'versions never come back')
  t.match(
    (await eventsOf(s.bus, s.owner)).map(({ payload }) => payload.change),
    ['set', 'rotated', 'rotated', 'revoked', 'set'],
  )
})

t.test('hosts are names: no address, no port, no pattern in the middle', async (t) => {
  const s = await setup(t)
  const hosts = ['1.2.3.4', 'api.example.com:8443', 'a.*.com', '*', 'localhost', 'API.example.com']
  for (const host of [...hosts, 'https://a.com', 'a.com/', '*.com', 'bücher.example', 'a..com']) {
    const error = await refusal(s.set('user', s.owner.user_id, 'KEY', VALUE, [host]))
    t.match(error, { code: 'invalid_argument' }, host)
  }
  const good = ['xn--bcher-kva.example', 'a.xn--p1ai', '*.api.example.com']
  t.strictSame((await s.set('user', s.owner.user_id, 'KEY', VALUE, good)).hosts, good)
})

t.test('parallel sets of one name leave one active row, and none is lost', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const sets = Array.from({ length: 20 }, (_, i) => s.set('user', user_id, 'KEY', `value-no-${i}`))
  const versions = (await Promise.all(sets)).map(({ version }) => version)
  t.strictSame(
    versions.sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
  const [active, ...others] = await activeRows(s, 'KEY')
  t.equal(active.version, 20)
  t.strictSame(others, [])
  t.match(await opened(s, 'KEY', null, null), /^value-no-\d+$/)
  t.equal((await eventsOf(s.bus, s.owner)).length, 20)
})

t.test('a repeat with the same idempotency key changes nothing', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  const place = { scope_type: 'user', scope_id: user_id, name: 'KEY' } as const
  const set = (value: string, key: string, more = {}) =>
    s.call(setSecret, { ...place, value, hosts: ['a.example'], ...more }, s.owner, key)
  const first = await set(VALUE, 'k-1')
  await set('newer-value', 'k-2')
  t.strictSame(await set(VALUE, 'k-1'), first, 'also when it has changed since')
  t.equal(await opened(s, 'KEY', null, null), 'newer-value')
  t.match(await refusal(set(VALUE, 'k-1', { name: 'OTHER' })), { code: 'idempotency_conflict' })
  t.match(await refusal(set(VALUE, 'k-1', { hosts: [] })), { code: 'idempotency_conflict' })
  const revoke = (key: string) => s.call(revokeSecret, place, s.owner, key)
  t.strictSame(await revoke('r-1'), await revoke('r-1'))
  t.match(await refusal(revoke('r-2')), { details: { error: 'ErrAlreadyRevoked' } })
  t.equal((await eventsOf(s.bus, s.owner)).length, 3)
})

t.test('another owner learns nothing and changes nothing', async (t) => {
  const s = await setup(t)
  const stranger = newOwner()
  const { user_id } = s.owner
  await s.agent(s.owner, 42)
  await s.task(s.owner, 7)
  await s.set('user', user_id, 'KEY', VALUE)
  await s.set('agent', 42, 'KEY', VALUE)
  await s.set('task', 7, 'KEY', VALUE)
  const scopes = [
    ['user', user_id],
    ['agent', 42],
    ['task', 7],
  ] as const
  for (const [scope_type, scope_id] of scopes) {
    const scope = { scope_type, scope_id }
    const unknown = { scope_type, scope_id: 999_999_999 }
    const calls = (where: typeof scope) => [
      s.call(listSecrets, where, stranger),
      s.call(setSecret, { ...where, name: 'KEY', value: 'of-a-stranger' }, stranger),
      s.call(rotateSecret, { ...where, name: 'KEY', value: 'of-a-stranger' }, stranger),
      s.call(revokeSecret, { ...where, name: 'KEY' }, stranger),
    ]
    const foreign = await Promise.all(calls(scope).map(refusal))
    t.match(foreign, Array(4).fill({ code: 'not_found' }))
    t.strictSame(foreign, await Promise.all(calls(unknown).map(refusal)), 'foreign is unknown')
  }
  t.equal((await activeRows(s, 'KEY')).length, 3)
  t.equal(await opened(s, 'KEY', 42, 7), VALUE)
})

t.test('agents may neither set nor list what a scope has', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  const scope = { scope_type: 'agent', scope_id: 42 } as const
  t.match(await refusal(s.call(listSecrets, scope, agent)), { code: 'forbidden' })
  const input = { ...scope, name: 'KEY', value: VALUE }
  t.match(await refusal(s.call(setSecret, input, agent)), { code: 'forbidden' })
})

t.test('the goal hears of a secret that is revoked while its task is worked on', async (t) => {
  const s = await setup(t)
  const agent = await s.agent(s.owner, 42)
  await s.task(s.owner, 7)
  await s.task(s.owner, 8)
  await s.set('task', 7, 'KEY', VALUE)
  await s.set('task', 8, 'KEY', VALUE)
  await s.claim(agent, 7)
  for (const scope_id of [7, 8]) {
    await s.call(revokeSecret, { scope_type: 'task', scope_id, name: 'KEY' }, s.owner)
  }
  const notices = (await eventsOf(s.bus, s.owner)).filter(
    ({ subject }) => subject === noticePosted('secrets').subject,
  )
  t.equal(notices.length, 1, 'nobody works on the other task')
  t.match(notices[0]?.payload, { to: { kind: 'goal', goal_id: 1_007 }, metadata: { task_id: 7 } })
  t.notMatch(JSON.stringify(notices), VALUE)
})

t.test('a scope has its ceiling, which replacing does not touch', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  for (let i = 0; i < SECRETS_PER_SCOPE_MAX; i += 1) await s.set('user', user_id, `K${i}`, VALUE)
  t.match(await refusal(s.set('user', user_id, 'MORE', VALUE)), { code: 'ceiling_exceeded' })
  t.equal((await s.set('user', user_id, 'K0', VALUE)).version, 2)
  await s.agent(s.owner, 42)
  t.equal((await s.set('agent', 42, 'MORE', VALUE)).version, 1)
})

t.test('a value is nowhere but sealed', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  await s.set('user', user_id, 'KEY', VALUE)
  await s.call(
    rotateSecret,
    { scope_type: 'user', scope_id: user_id, name: 'KEY', value: `${VALUE}-2` },
    s.owner,
  )
  await refusal(s.set('user', user_id, 'BAD-NAME', VALUE))
  t.notMatch(await databaseText(s.db), VALUE)
  t.notMatch(s.log_lines.join('\n'), VALUE)
  t.notMatch(JSON.stringify(await eventsOf(s.bus, s.owner)), VALUE)
  t.ok(
    s.log_lines.some((line) => line.includes('call answered')),
    'the log was looked at',
  )
})
