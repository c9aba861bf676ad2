import {
  createWebhook,
  deleteWebhook,
  endpointKey,
  listWebhooks,
  rotateWebhook,
  type SourceType,
  setWebhookSecret,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { hubHeaders, newOwner, refusal, type Setup, setup, stripeHeaders } from './setup.ts'

const DAY_MS = 86_400_000

const hub = async (s: Setup, url: string, secret: string | undefined, body: string) =>
  (await s.post(url, body, hubHeaders(secret ?? '', body))).status

t.test('C5 the ceiling: count, types and queues, in the order of the checks', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend({ webhook_max: 1 })
  const refusals: [string, string, string][] = [
    ['', 'inbox', 'invalid_argument'],
    ['github', '', 'invalid_argument'],
    ['github', 'no such queue', 'invalid_argument'],
    ['nonsense', 'quarantine', 'invalid_argument'],
    ['stripe', 'elsewhere', 'forbidden_source_type'],
    ['nonsense', 'elsewhere', 'forbidden_source_type'],
    ['github', 'elsewhere', 'forbidden'],
  ]
  for (const [source_type, target_queue, code] of refusals) {
    const answer = s.create(principal, source_type, { target_queue })
    await t.rejects(answer, { code }, `${source_type} ${target_queue}`)
  }
  const shortSecret = s.create(principal, 'github', { signing_secret: ' ' })
  await t.rejects(shortSecret, { code: 'invalid_argument' })
  const created = await s.create(principal, 'github')
  t.match(created, { source_type: 'github', target_queue: 'inbox', trust_mode: 'signed' })
  t.match(created.signing_secret, /^whsec_[0-9a-f]{64}$/)
  t.match(created.ingest_url, /^http:\/\/public\.test\/webhooks\/w\/[0-9a-f]{32}$/)
  await t.rejects(s.create(principal, 'github'), { code: 'ceiling_exceeded' })
  const listed = await s.call(listWebhooks, {}, { principal })
  const { webhook_id, ingest_url } = created
  t.strictSame(listed, {
    webhooks: [
      {
        webhook_id,
        ingest_url,
        source_type: 'github',
        target_queue: 'inbox',
        trust_mode: 'signed',
        secret_set: true,
        created_at: new Date(s.clock.now()).toISOString(),
        allow_all: true,
        quarantined: 0,
      },
    ],
    ceiling: {
      max: 1,
      allowed_source_types: ['github', 'generic'],
      allowed_queues: ['inbox'],
      used: 1,
    },
  })
  await s.call(deleteWebhook, { webhook_id }, { principal })
  t.match(await s.create(principal, 'generic'), { source_type: 'generic' }, 'there is room again')
})

t.test('C5 of many creates at the boundary, one wins', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend({ webhook_max: 1 })
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () => s.create(principal, 'generic')),
  )
  const codes = results.map((result) =>
    result.status === 'fulfilled' ? 'created' : result.reason.code,
  )
  t.strictSame(codes.sort(), [...Array(5).fill('ceiling_exceeded'), 'created'])
})

t.test('a ceiling of no webhooks allows none', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend({ webhook_max: 0 })
  await t.rejects(s.create(principal, 'generic'), { code: 'ceiling_exceeded' })
})

t.test('an endpoint that is not granted create_webhook is forbidden', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend({ tools: ['list_webhooks'] })
  await t.rejects(s.create(principal, 'generic'), { code: 'forbidden' })
})

t.test('a human has any queue and any known type', async (t) => {
  const s = await setup(t)
  t.match(await s.create(s.owner, 'linear', { target_queue: 'anything' }), { warning: /linear/ })
  await t.rejects(s.create(s.owner, 'nonsense'), { code: 'invalid_argument' })
  await t.rejects(s.create(s.owner, 'generic', { target_queue: 'quarantine' }), {
    code: 'invalid_argument',
  })
})

t.test('C6 a webhook of a sibling, a stranger or nobody is the same not_found', async (t) => {
  const s = await setup(t)
  const mine = await s.vend()
  const sibling = await s.vend()
  const { webhook_id } = await s.create(sibling.principal, 'generic')
  const stranger = newOwner()
  const { webhook_id: strange } = await s.create(stranger, 'generic')
  const unknown = `wh_${'0'.repeat(26)}`
  const { principal } = mine
  const secret = { signing_secret: 'whsec_0123456789' }
  const verbs = [
    (id: string) => s.call(rotateWebhook, { webhook_id: id }, { principal }),
    (id: string) => s.call(setWebhookSecret, { webhook_id: id, ...secret }, { principal }),
    (id: string) => s.call(deleteWebhook, { webhook_id: id }, { principal }),
  ]
  for (const verb of verbs) {
    const expected = await refusal(verb(unknown))
    t.match(expected, { code: 'not_found' })
    for (const id of [webhook_id, strange, 'nonsense', '', "wh_'\0"]) {
      t.strictSame(await refusal(verb(id)), expected, JSON.stringify(id))
    }
  }
  const listed = await s.call(listWebhooks, {}, { principal })
  t.strictSame([listed.webhooks, listed.ceiling.used], [[], 0])
  const ofOwner = await s.call(listWebhooks, {}, { principal: s.owner })
  t.strictSame(
    ofOwner.webhooks.map((row) => row.webhook_id),
    [webhook_id],
    "the human sees all of their own, and no stranger's",
  )
  t.equal((await s.call(deleteWebhook, { webhook_id }, { principal: s.owner })).deleted, true)
})

t.test('a list goes on where its cursor says, also after that webhook is gone', async (t) => {
  const s = await setup(t)
  const owner = newOwner()
  const made: string[] = []
  for (let i = 0; i < 5; i += 1) made.push((await s.create(owner, 'generic')).webhook_id)
  const page = (cursor?: string) =>
    s.call(
      listWebhooks,
      { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
      { principal: owner },
    )
  const first = await page()
  t.match(first, { next_cursor: first.webhooks[1]?.webhook_id, ceiling: { used: 5 } })
  await s.call(deleteWebhook, { webhook_id: first.next_cursor ?? '' }, { principal: owner })
  const second = await page(first.next_cursor)
  const third = await page(second.next_cursor)
  const listed = [first, second, third].flatMap((part) => part.webhooks)
  t.strictSame(new Set(listed.map((row) => row.webhook_id)), new Set(made))
  t.equal(listed.length, made.length, 'each once')
  t.equal(third.next_cursor, undefined)
})

t.test('a cursor of nobody is refused, and one of a stranger shows nothing', async (t) => {
  const s = await setup(t)
  const owner = newOwner()
  await s.create(owner, 'generic')
  const { webhook_id } = await s.create(newOwner(), 'generic')
  for (const cursor of ['nonsense', '', "wh_'\0"]) {
    await t.rejects(s.call(listWebhooks, { cursor }, { principal: owner }), {
      code: 'invalid_argument',
    })
  }
  for (const cursor of [webhook_id, `wh_${'0'.repeat(26)}`]) {
    t.strictSame((await s.call(listWebhooks, { cursor }, { principal: owner })).webhooks, [])
  }
})

t.test('A15 an immediate rotation ends the old URL and the old secret at once', async (t) => {
  const s = await setup(t)
  const old = await s.create(s.owner, 'github')
  const { webhook_id } = old
  const now = await s.call(rotateWebhook, { webhook_id, immediate: true }, { principal: s.owner })
  t.not(now.ingest_url, old.ingest_url)
  t.not(now.signing_secret, old.signing_secret)
  t.equal(await hub(s, old.ingest_url, now.signing_secret, '1'), 404)
  t.equal(await hub(s, now.ingest_url, old.signing_secret, '2'), 401)
  t.equal(await hub(s, now.ingest_url, now.signing_secret, '3'), 202)
  const { webhooks } = await s.call(listWebhooks, {}, { principal: s.owner })
  t.match(webhooks, [
    { ingest_url: now.ingest_url, rotated_at: new Date(s.clock.now()).toISOString() },
  ])
})

t.test('a rotation lets the old pair work for 24 h, in any combination', async (t) => {
  const s = await setup(t)
  const old = await s.create(s.owner, 'github')
  const { webhook_id } = old
  const now = await s.call(rotateWebhook, { webhook_id }, { principal: s.owner })
  const urls = [old.ingest_url, now.ingest_url]
  const secrets = [old.signing_secret, now.signing_secret]
  const statuses = async (round: string) => {
    const all: number[] = []
    for (const url of urls) {
      for (const secret of secrets) all.push(await hub(s, url, secret, `${round}${all.length}`))
    }
    return all
  }
  s.clock.advance(DAY_MS - 1)
  t.strictSame(await statuses('before'), [202, 202, 202, 202])
  s.clock.advance(1)
  t.strictSame(await statuses('after'), [404, 404, 401, 202])
})

t.test('a second rotation does not prolong the first, and an immediate one ends all', async (t) => {
  const s = await setup(t)
  const first = await s.create(s.owner, 'github')
  const { webhook_id } = first
  const second = await s.call(rotateWebhook, { webhook_id }, { principal: s.owner })
  s.clock.advance(DAY_MS / 2)
  const third = await s.call(rotateWebhook, { webhook_id }, { principal: s.owner })
  s.clock.advance(DAY_MS / 2)
  t.equal(await hub(s, first.ingest_url, third.signing_secret, '1'), 404)
  t.equal(await hub(s, second.ingest_url, second.signing_secret, '2'), 202)
  const last = await s.call(rotateWebhook, { webhook_id, immediate: true }, { principal: s.owner })
  t.equal(await hub(s, second.ingest_url, last.signing_secret, '3'), 404)
  t.equal(await hub(s, third.ingest_url, last.signing_secret, '4'), 404)
  t.equal(await hub(s, last.ingest_url, third.signing_secret, '5'), 401)
  t.equal(await hub(s, last.ingest_url, last.signing_secret, '6'), 202)
})

t.test('many rotations leave a bounded number of old URLs', async (t) => {
  const s = await setup(t)
  const { webhook_id } = await s.create(s.owner, 'generic')
  const urls: string[] = []
  for (let n = 0; n < 12; n += 1) {
    s.clock.advance(1_000)
    const { ingest_url } = await s.call(rotateWebhook, { webhook_id }, { principal: s.owner })
    urls.push(ingest_url)
  }
  const statuses: number[] = []
  for (const url of urls) statuses.push((await s.post(url, url)).status)
  t.strictSame(statuses, [...Array(4).fill(404), ...Array(8).fill(202)])
})

t.test(
  'the secret of a provider is set, replaced with an overlap, and replaced at once',
  async (t) => {
    const s = await setup(t)
    const { webhook_id, ingest_url } = await s.create(s.owner, 'stripe')
    const set = (signing_secret: string, immediate = false) =>
      s.call(setWebhookSecret, { webhook_id, signing_secret, immediate }, { principal: s.owner })
    let sent = 0
    const send = async (secret: string) => {
      const body = JSON.stringify({ id: `evt_${++sent}` })
      return (await s.post(ingest_url, body, stripeHeaders(secret, body, s.clock.now()))).status
    }
    const [one, two, three] = ['whsec_one_11111', 'whsec_two_22222', 'whsec_three_333'] as const
    t.strictSame(await set(one), { webhook_id, secret_set: true })
    t.equal(await send(one), 202)
    await set(two)
    t.strictSame([await send(one), await send(two)], [202, 202])
    s.clock.advance(DAY_MS)
    t.strictSame([await send(one), await send(two)], [401, 202])
    await set(three, true)
    t.strictSame([await send(two), await send(three)], [401, 202])
    for (const bad of ['', '   ', 'sk_test_1234567']) {
      await t.rejects(set(bad), { code: 'invalid_argument' }, JSON.stringify(bad))
    }
    t.equal(await send(three), 202, 'a refused secret changes nothing')
  },
)

t.test(
  'rotating the URL of a provider-issued webhook keeps its secret, unless immediate',
  async (t) => {
    const s = await setup(t)
    const secret = 'whsec_from_stripe'
    const { webhook_id } = await s.create(s.owner, 'stripe', { signing_secret: secret })
    const send = async (url: string, body: string) =>
      (await s.post(url, body, stripeHeaders(secret, body, s.clock.now()))).status
    const rotate = (immediate: boolean) =>
      s.call(rotateWebhook, { webhook_id, immediate }, { principal: s.owner })
    const rotated = await rotate(false)
    t.match(rotated, { warning: /unchanged/ })
    t.equal(rotated.signing_secret, undefined)
    s.clock.advance(2 * DAY_MS)
    t.equal(await send(rotated.ingest_url, '{"id":"evt_1"}'), 202)
    const again = await rotate(true)
    t.match(again, { warning: /503/ })
    t.equal(await send(again.ingest_url, '{"id":"evt_2"}'), 503)
  },
)

t.test('a generic webhook takes no secret', async (t) => {
  const s = await setup(t)
  const { webhook_id } = await s.create(s.owner, 'generic')
  const call = { webhook_id, signing_secret: 'whsec_0123456789' }
  await t.rejects(s.call(setWebhookSecret, call, { principal: s.owner }), {
    code: 'invalid_argument',
  })
})

t.test('a repeated create or rotate with the same key gets the first answer', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend({ webhook_max: 1 })
  const create = (source_type: SourceType, key?: string) =>
    s.call(
      createWebhook,
      { source_type, target_queue: 'inbox' },
      { principal, idempotency_key: key },
    )
  const first = await create('github', 'k1')
  t.strictSame(await create('github', 'k1'), first, 'also beyond the ceiling, secret included')
  await t.rejects(create('generic', 'k1'), { code: 'idempotency_conflict' })
  const { webhook_id } = first
  const rotate = (immediate: boolean, idempotency_key: string) =>
    s.call(rotateWebhook, { webhook_id, immediate, idempotency_key }, { principal })
  const rotated = await rotate(false, 'k1')
  t.not(rotated.ingest_url, first.ingest_url, 'a key counts within its operation')
  t.strictSame(await rotate(false, 'k1'), rotated)
  await t.rejects(rotate(true, 'k1'), { code: 'idempotency_conflict' })
  const stored = JSON.stringify(await s.db('answers'))
  t.notOk(stored.includes(first.signing_secret ?? '-'), 'the kept answer is sealed')
})

t.test('calls with one key at the same time make one webhook', async (t) => {
  const s = await setup(t)
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => s.create(s.owner, 'github', { idempotency_key: 'same' })),
  )
  t.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
  const { webhooks } = await s.call(listWebhooks, {}, { principal: s.owner })
  t.equal(webhooks.length, 1)
})

t.test('another caller may use the same key', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend()
  const mine = await s.create(principal, 'generic', { idempotency_key: 'k' })
  const theirs = await s.create(s.owner, 'generic', { idempotency_key: 'k' })
  t.not(mine.webhook_id, theirs.webhook_id)
})

t.test('the bucket holds the newest version, whatever order copies arrive in', async (t) => {
  const s = await setup(t)
  const { principal } = await s.vend()
  const { webhook_id } = await s.create(principal, 'generic')
  const rotations = Array.from({ length: 5 }, () =>
    s.call(rotateWebhook, { webhook_id }, { principal }),
  )
  const urls = (await Promise.all(rotations)).map(({ ingest_url }) => ingest_url)
  await s.call(deleteWebhook, { webhook_id }, { principal })
  for (const url of urls) t.equal((await s.post(url, '{}')).status, 404)
  const records = [...s.deps.webhookMirror.entries()].filter(
    ([, record]) => record.webhook_id === webhook_id,
  )
  t.strictSame(
    records.map(([, { version, deleted }]) => ({ version, deleted })),
    Array(6).fill({ version: 7, deleted: true }),
  )
  t.ok(s.deps.identityMirror.get(endpointKey(principal.endpoint_id)))
  await waitFor(async () => (await s.db('outbox')).length === 0, { what: 'an empty outbox' })
})
