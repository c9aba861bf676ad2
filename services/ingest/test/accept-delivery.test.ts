import { deleteWebhook, endpointKey, setWebhookSecret, sha256Hex } from '@guildhall/contracts'
import { metrics } from '@guildhall/runtime'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { deliveryCounter } from '../src/metrics.ts'
import {
  type Answer,
  deliveriesOf,
  hubHeaders,
  type Setup,
  setup,
  slackHeaders,
  stripeHeaders,
} from './setup.ts'

const G1_BODY = '{"action":"opened","number":7}'

const eventRows = (s: Setup): Promise<Record<string, unknown>[]> =>
  s.db('webhook_events').where({ owner_id: s.owner.user_id }).orderBy('id')

const oneEvent = (s: Setup) =>
  waitFor(async () => (await eventRows(s)).length === 1, { what: 'the event in the history' })

const outcome = ({ status, body }: Answer) => [status, body.created, body.repeat]

t.test('A1 a signed delivery is accepted once', async (t) => {
  const s = await setup(t)
  const webhook = await s.create(s.owner, 'github', { signing_secret: 'whsec_roundtripsecret' })
  const headers = {
    ...hubHeaders('whsec_roundtripsecret', G1_BODY),
    'x-github-delivery': 'guid-1',
    'x-github-event': 'issues',
  }
  const first = await s.post(webhook.ingest_url, G1_BODY, headers)
  const id = first.body.id
  t.match(id, /^td_/)
  const answer = { id, queue: 'inbox', verified: true, trust_mode: 'signed' }
  const todo = { id, endpoint_id: null, queue: 'inbox' }
  t.equal(first.status, 202)
  t.strictSame(first.body, { ...answer, todos: [{ ...todo, created: true }], created: 1 })

  const repeat = await s.post(webhook.ingest_url, G1_BODY, headers)
  t.equal(repeat.status, 202)
  t.strictSame(repeat.body, {
    ...answer,
    todos: [{ ...todo, created: false }],
    created: 0,
    repeat: true,
  })

  const [delivery, ...more] = await deliveriesOf(s.bus, s.owner.user_id)
  t.strictSame(more, [])
  t.equal(delivery?.data.toString(), G1_BODY, 'byte for byte')
  t.match(delivery?.meta, {
    todo_id: id,
    verify_detail: 'hmac-sha256 ok',
    external_id: `sha256:${sha256Hex(G1_BODY)}`,
    event_type: 'issues',
    title: 'github issues',
    content_type: 'application/json',
    payload_size: Buffer.byteLength(G1_BODY),
    source_ip: '127.0.0.1',
    received_at: s.clock.now(),
  })
  await oneEvent(s)
  const [event] = await eventRows(s)
  t.match(event, { todo_id: id, verified: true, headers: { 'x-github-delivery': 'guid-1' } })
})

t.test('A2 A3 a bad signature is 401, an unknown URL 404, and nothing is stored', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'github')
  const wrong = await s.post(ingest_url, G1_BODY, hubHeaders('wrong', G1_BODY))
  const none = await s.post(ingest_url, G1_BODY)
  t.strictSame([wrong.status, none.status], [401, 401])
  t.equal(wrong.body.error, 'signature verification failed')
  t.equal(none.body.error, 'signature verification failed')
  const unknown = await s.post(`http://public.test/webhooks/w/${'0'.repeat(32)}`, G1_BODY)
  t.equal(unknown.status, 404)
  t.strictSame(await deliveriesOf(s.bus, s.owner.user_id), [])
})

t.test('A4 a body over the limit is 413, even for an unknown URL', async (t) => {
  const s = await setup(t)
  const generic = await s.create(s.owner, 'generic')
  const signed = await s.create(s.owner, 'github')
  const limit = 5 * 1_048_576
  const unknown = `http://public.test/webhooks/w/${'0'.repeat(32)}`
  t.equal((await s.post(unknown, Buffer.alloc(limit + 1))).status, 413)
  t.equal((await s.post(unknown, Buffer.alloc(limit))).status, 404)
  t.equal((await s.post(generic.ingest_url, Buffer.alloc(limit + 1))).status, 413)
  t.equal((await s.post(generic.ingest_url, Buffer.alloc(limit))).status, 202)
  const large = Buffer.alloc(5 * limit, 'x')
  const headers = hubHeaders(signed.signing_secret ?? '', large)
  t.equal((await s.post(signed.ingest_url, large, headers)).status, 202)
  t.equal((await s.post(signed.ingest_url, Buffer.alloc(5 * limit + 1))).status, 413)
})

t.test('A5 a signed webhook without a secret is 503 until it has one', async (t) => {
  const s = await setup(t)
  const webhook = await s.create(s.owner, 'stripe')
  t.match(webhook.warning, /503/)
  t.equal(webhook.signing_secret, undefined)
  const body = '{"id":"evt_1"}'
  const send = () =>
    s.post(webhook.ingest_url, body, stripeHeaders('whsec_from_stripe', body, s.clock.now()))
  const before = await send()
  t.equal(before.status, 503)
  t.equal(before.body.error, 'webhook not configured')
  t.ok(Number(before.headers.get('retry-after')) > 0)
  const { webhook_id } = webhook
  await s.call(
    setWebhookSecret,
    { webhook_id, signing_secret: 'whsec_from_stripe' },
    { principal: s.owner },
  )
  t.strictSame(outcome(await send()), [202, 1, undefined])
})

t.test('A6 a revoked or expired endpoint is 503 and stores nothing', async (t) => {
  const s = await setup(t)
  const { principal, write } = await s.vend()
  const { ingest_url } = await s.create(principal, 'generic')
  const status = async (body: string) => (await s.post(ingest_url, body)).status
  const change = async (more: Parameters<typeof write>[0]) => {
    await write(more)
    const key = endpointKey(principal.endpoint_id)
    await waitFor(
      () => {
        const record = s.deps.identityMirror.get(key)
        return (
          record !== undefined && 'endpoint' in record && record.endpoint.version === more?.version
        )
      },
      { what: 'the change of the endpoint' },
    )
  }
  t.equal(await status('{"n":0}'), 202)
  await change({ version: 2, status: 'revoked', revoked_at: '2030-01-01T00:00:00.000Z' })
  const refused = await s.post(ingest_url, '{"n":1}')
  t.strictSame([refused.status, refused.body.error], [503, 'webhook not configured'])
  await change({ version: 3, expires_at: new Date(s.clock.now() + 1_000).toISOString() })
  t.equal(await status('{"n":2}'), 202, 'not yet expired')
  s.clock.advance(1_000)
  t.equal(await status('{"n":3}'), 503, 'expired')
  const bodies = (await deliveriesOf(s.bus, s.owner.user_id)).map(({ data }) => data.toString())
  t.strictSame(bodies, ['{"n":0}', '{"n":2}'])
})

t.test('A7 a generic delivery is not verified; the same body again creates nothing', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const body = '{"hello": "switchboard"}'
  const first = await s.post(ingest_url, body)
  t.match(first.body, { created: 1, verified: false, trust_mode: 'token' })
  t.strictSame(outcome(await s.post(ingest_url, body)), [202, 0, true])
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  t.match(delivery?.meta, { payload_size: 24, verified: false, trust_mode: 'token' })
})

t.test('A8 a delivery id makes two bodies one todo; a long one is passed over', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'generic')
  const send = (body: string, id: string) => s.post(ingest_url, body, { 'x-delivery-id': id })
  const first = await send('{"n":1}', 'd1')
  const second = await send('{"n":2}', ' d1 ')
  t.equal(second.body.id, first.body.id)
  t.strictSame(outcome(second), [202, 0, true])
  const long = 'd'.repeat(257)
  t.strictSame(outcome(await send('{"n":3}', long)), [202, 1, undefined])
  t.strictSame(outcome(await send('{"n":4}', long)), [202, 1, undefined])
  t.strictSame(outcome(await send('{"n":3}', `${long}x`)), [202, 0, true])
  const bodies = (await deliveriesOf(s.bus, s.owner.user_id)).map(({ data }) => data.toString())
  t.strictSame(bodies, ['{"n":1}', '{"n":3}', '{"n":4}'])
})

t.test('A9 the same body at two webhooks is two todos', async (t) => {
  const s = await setup(t)
  const one = await s.create(s.owner, 'generic')
  const other = await s.create(s.owner, 'generic')
  const first = await s.post(one.ingest_url, '{}')
  const second = await s.post(other.ingest_url, '{}')
  t.strictSame(
    [outcome(first), outcome(second)],
    [
      [202, 1, undefined],
      [202, 1, undefined],
    ],
  )
  t.not(first.body.id, second.body.id)
})

t.test('A10 no credential is stored with a delivery, and none is logged', async (t) => {
  const s = await setup(t)
  const webhook = await s.create(s.owner, 'github')
  const secret = webhook.signing_secret ?? ''
  const token = webhook.ingest_url.split('/').at(-1) ?? ''
  const signed = hubHeaders(secret, G1_BODY)
  const headers = {
    ...signed,
    authorization: 'Bearer very-secret-bearer',
    cookie: 'sid=very-secret-cookie',
    'x-custom-token': 'very-secret-token',
    'x-original-uri': `/webhooks/w/${token}`,
  }
  await s.post(webhook.ingest_url, G1_BODY, headers)
  await s.post(webhook.ingest_url, G1_BODY, { ...headers, 'x-hub-signature-256': 'sha256=bad' })
  await oneEvent(s)
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  const stored = delivery?.meta.headers ?? {}
  for (const name of ['authorization', 'cookie', 'x-hub-signature-256', 'x-custom-token']) {
    t.equal(stored[name], '«redacted»', name)
  }
  t.equal(stored['x-original-uri'], '/webhooks/w/«redacted»')
  const [event] = await eventRows(s)
  t.strictSame(event?.headers, stored)
  const log = s.log_lines.join('\n')
  t.ok(log.includes('delivery accepted') && log.includes('delivery refused'))
  const signature = signed['x-hub-signature-256']?.slice('sha256='.length) ?? ''
  for (const text of [secret, token, signature, 'very-secret']) t.notOk(log.includes(text), text)
  const dump = JSON.stringify([
    await s.db('webhooks'),
    await s.db('webhook_urls'),
    await s.db('webhook_secrets'),
    [...s.deps.webhookMirror.entries()],
  ])
  for (const text of [secret, token]) t.notOk(dump.includes(text), 'sealed at rest')
})

t.test('A16 a new delivery id on the same signed body creates no second todo', async (t) => {
  const s = await setup(t)
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const send = (id: string) =>
    s.post(ingest_url, G1_BODY, { ...hubHeaders(signing_secret, G1_BODY), 'x-github-delivery': id })
  const first = await send('guid-1')
  const second = await send('guid-2')
  t.strictSame(
    [outcome(first), outcome(second)],
    [
      [202, 1, undefined],
      [202, 0, true],
    ],
  )
  t.equal(second.body.id, first.body.id)
  t.equal((await deliveriesOf(s.bus, s.owner.user_id)).length, 1)
})

t.test('A17 a redelivery weeks later, long out of any window, creates nothing', async (t) => {
  const s = await setup(t)
  const { ingest_url } = await s.create(s.owner, 'stripe', {
    signing_secret: `whsec_stripe${'0'.repeat(20)}`,
  })
  const body = '{"id":"evt_17","type":"invoice.paid"}'
  const send = () =>
    s.post(ingest_url, body, stripeHeaders(`whsec_stripe${'0'.repeat(20)}`, body, s.clock.now()))
  t.strictSame(outcome(await send()), [202, 1, undefined])
  s.clock.advance(20 * 86_400_000)
  t.strictSame(outcome(await send()), [202, 0, true])
})

t.test('A18 a form-encoded GitHub delivery verifies on its bytes and has a title', async (t) => {
  const s = await setup(t)
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'github')
  const event = {
    action: 'opened',
    issue: { number: 3, title: 'Drüber & drunter' },
    repository: { full_name: 'octo/repo' },
  }
  const body = new URLSearchParams({ payload: JSON.stringify(event) }).toString()
  const headers = {
    ...hubHeaders(signing_secret, body),
    'content-type': 'application/x-www-form-urlencoded',
    'x-github-event': 'issues',
  }
  t.strictSame(outcome(await s.post(ingest_url, body, headers)), [202, 1, undefined])
  const [delivery] = await deliveriesOf(s.bus, s.owner.user_id)
  t.equal(delivery?.data.toString(), body)
  t.match(delivery?.meta, {
    title: 'Issue #3 opened in octo/repo — Drüber & drunter',
    content_type: 'application/x-www-form-urlencoded',
    external_id: `sha256:${sha256Hex(body)}`,
  })
})

t.test('A19 a Stripe retry, signed anew, is the same todo', async (t) => {
  const s = await setup(t)
  const secret = 'whsec_test_secret'
  const { ingest_url } = await s.create(s.owner, 'stripe', { signing_secret: secret })
  const body = '{"id":"evt_123","type":"invoice.paid"}'
  const send = () => s.post(ingest_url, body, stripeHeaders(secret, body, s.clock.now()))
  const first = await send()
  s.clock.advance(3_600_000)
  const retry = await send()
  t.strictSame(
    [outcome(first), outcome(retry)],
    [
      [202, 1, undefined],
      [202, 0, true],
    ],
  )
  t.equal(retry.body.id, first.body.id)
  const [delivery, ...more] = await deliveriesOf(s.bus, s.owner.user_id)
  t.match(delivery?.meta, { external_id: 'evt_123', event_type: 'invoice.paid' })
  t.strictSame(more, [])
})

t.test(
  'A20 a signed challenge of Slack is answered and makes no todo; a forged one is 401',
  async (t) => {
    const s = await setup(t)
    const secret = 'slack_signing_secret'
    const { ingest_url } = await s.create(s.owner, 'slack', { signing_secret: secret })
    const body = '{"type":"url_verification","challenge":"3eZbrw1aB"}'
    const signed = await s.post(ingest_url, body, slackHeaders(secret, body, s.clock.now()))
    t.strictSame([signed.status, signed.body], [200, { challenge: '3eZbrw1aB' }])
    const forged = await s.post(ingest_url, body, slackHeaders('wrong', body, s.clock.now()))
    t.equal(forged.status, 401)
    t.strictSame(await deliveriesOf(s.bus, s.owner.user_id), [])
  },
)

t.test('a deleted webhook is unknown at once, its events stay', async (t) => {
  const s = await setup(t)
  const { ingest_url, webhook_id } = await s.create(s.owner, 'generic')
  await s.post(ingest_url, '{}')
  await oneEvent(s)
  t.strictSame(await s.call(deleteWebhook, { webhook_id }, { principal: s.owner }), {
    webhook_id,
    deleted: true,
  })
  t.equal((await s.post(ingest_url, '{"again":1}')).status, 404)
  t.equal((await eventRows(s)).length, 1)
})

t.test('a webhook over its rate is 429 with Retry-After, others are not', async (t) => {
  const s = await setup(t, { env: { WEBHOOK_RATE_PER_SECOND: '1', WEBHOOK_RATE_BURST: '2' } })
  const busy = await s.create(s.owner, 'generic')
  const calm = await s.create(s.owner, 'generic')
  const statuses: number[] = []
  for (const n of [1, 2, 3]) statuses.push((await s.post(busy.ingest_url, `${n}`)).status)
  t.strictSame(statuses, [202, 202, 429])
  t.equal((await s.post(busy.ingest_url, '4')).headers.get('retry-after'), '1')
  t.equal((await s.post(calm.ingest_url, '5')).status, 202)
  s.clock.advance(1_000)
  t.equal((await s.post(busy.ingest_url, '6')).status, 202)
})

t.test('a client over its rate is 429, told apart behind a trusted proxy only', async (t) => {
  const rates = { CLIENT_RATE_PER_SECOND: '1', CLIENT_RATE_BURST: '1' }
  const behind = await setup(t, { env: { ...rates, TRUSTED_PROXIES: '127.0.0.0/8' } })
  const { ingest_url } = await behind.create(behind.owner, 'generic')
  const from = async (s: Setup, url: string, address: string, body: string) =>
    (await s.post(url, body, { 'x-forwarded-for': address })).status
  t.equal(await from(behind, ingest_url, '198.51.100.1', '1'), 202)
  t.equal(await from(behind, ingest_url, '198.51.100.1', '2'), 429)
  t.equal(await from(behind, ingest_url, '6.6.6.6, 198.51.100.1', '3'), 429, 'forged hop')
  t.equal(await from(behind, ingest_url, '198.51.100.2', '4'), 202)
  const [delivery] = await deliveriesOf(behind.bus, behind.owner.user_id)
  t.equal(delivery?.meta.source_ip, '198.51.100.1')

  const exposed = await setup(t, { env: rates })
  const other = await exposed.create(exposed.owner, 'generic')
  t.equal(await from(exposed, other.ingest_url, '198.51.100.1', '1'), 202)
  t.equal(await from(exposed, other.ingest_url, '198.51.100.2', '2'), 429, 'not believed')
})

t.test('outcomes are counted by source and reason, and name nobody', async (t) => {
  const s = await setup(t)
  const { ingest_url, signing_secret = '' } = await s.create(s.owner, 'gitea', {
    target_queue: 'a-queue-of-somebody',
  })
  const counts = async () => {
    const { values } = await deliveryCounter.get()
    const ofGitea = values.filter(({ labels }) => labels.source === 'gitea')
    return Object.fromEntries(ofGitea.map(({ labels, value }) => [labels.outcome, value]))
  }
  const before = await counts()
  t.strictSame(before, {})
  const headers = hubHeaders(signing_secret, G1_BODY)
  for (const more of [headers, headers, {}, hubHeaders('wrong', G1_BODY)]) {
    await s.post(ingest_url, G1_BODY, more)
  }
  t.strictSame(await counts(), {
    accepted: 1,
    duplicate: 1,
    signature_missing: 1,
    signature_mismatch: 1,
  })
  const text = await metrics.metrics()
  t.notOk(text.includes('a-queue-of-somebody'))
  t.notOk(text.includes(String(s.owner.user_id)))
})
