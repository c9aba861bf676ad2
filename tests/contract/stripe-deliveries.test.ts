import Stripe from 'stripe'
import t from 'tap'
import { startIngest } from './ingest-process.ts'

/** Headers made by Stripe's own library; its verdict and ours must be the same. */

const stripe = new Stripe('sk_test_not_used')
const SECRET = 'whsec_8f742231b10e8888abcd99aabbcc85a5'

const body = (id: string): string =>
  JSON.stringify({
    id,
    object: 'event',
    type: 'invoice.paid',
    data: { object: { memo: 'Dach ✓' } },
  })

const accepts = (payload: string, header: string): boolean => {
  try {
    stripe.webhooks.constructEvent(payload, header, SECRET)
    return true
  } catch {
    return false
  }
}

t.test('what Stripe signs is accepted, its retry is the same todo', async (t) => {
  const ingest = await startIngest(t)
  const source = { source_type: 'stripe', signing_secret: SECRET }
  const { ingest_url, ...created } = await ingest.create(source)
  t.equal(created.signing_secret, undefined, 'a secret that was given is not shown')
  const now = Math.floor(Date.now() / 1_000)
  const payload = body('evt_1')
  const send = (timestamp: number) => {
    const header = stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp })
    t.ok(accepts(payload, header))
    return ingest.post(ingest_url, payload, { 'stripe-signature': header })
  }
  const first = await send(now)
  const retry = await send(now - 60)
  t.match(first, { status: 202, body: { created: 1, verified: true } })
  t.match(retry, { status: 202, body: { created: 0, repeat: true, id: first.body.id } })
})

t.test('their verifier and ours agree on what is wrong', async (t) => {
  const ingest = await startIngest(t)
  const source = { source_type: 'stripe', signing_secret: SECRET }
  const { ingest_url } = await ingest.create(source)
  const now = Math.floor(Date.now() / 1_000)
  const payload = body('evt_2')
  const sign = (more: { secret?: string; timestamp?: number; payload?: string; scheme?: string }) =>
    stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: now, ...more })
  const good = sign({})
  const [time = '', signature = ''] = good.split(',')
  const headers = [
    good,
    sign({ timestamp: now - 290 }),
    sign({ timestamp: now - 310 }),
    sign({ secret: 'whsec_other' }),
    sign({ payload: body('evt_other') }),
    sign({ scheme: 'v0' }),
    `${time},v1=${'0'.repeat(64)},${signature}`,
    `t=${now - 1},${signature}`,
    `t=soon,${signature}`,
    signature,
    time,
    '',
  ]
  for (const header of headers) {
    const { status } = await ingest.post(ingest_url, payload, { 'stripe-signature': header })
    t.equal(status, accepts(payload, header) ? 202 : 401, header.replace(/[0-9a-f]{60}/g, '…'))
  }
})
