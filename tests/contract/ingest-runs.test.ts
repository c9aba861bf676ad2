import { createHmac } from 'node:crypto'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { startIngest } from './ingest-process.ts'

const signed = (secret: string, body: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
})

t.test('A10 killed in the middle, it remembers what it accepted, and logs no secret', async (t) => {
  const ingest = await startIngest(t)
  const { ingest_url, signing_secret: secret = '' } = await ingest.create({ source_type: 'github' })
  const send = (body: string) => ingest.post(ingest_url, body, signed(secret, body))
  const bodies = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)
  const sending = bodies.map((body) => send(body).catch(() => undefined))
  await Promise.race(sending)
  await ingest.service.kill()
  const accepted = new Set<string>()
  for (const [n, answer] of (await Promise.all(sending)).entries()) {
    if (answer?.status === 202) accepted.add(bodies[n] ?? '')
  }
  t.ok(accepted.size > 0, `${accepted.size} accepted before it was killed`)
  await ingest.service.restart()
  for (const body of bodies) {
    // As a provider does: a connection of the former process breaks, so it sends again.
    const { status, body: answer } = await waitFor(() => send(body), { what: 'an answer' })
    t.equal(status, 202)
    if (accepted.has(body)) t.equal(answer.created, 0, 'accepted once, known for ever')
  }
  const { code } = await ingest.service.stop()
  t.equal(code, 0, 'ends cleanly')
  const log = ingest.service.logs()
  t.match(log, /delivery accepted/)
  const token = ingest_url.split('/').at(-1) ?? ''
  for (const text of [secret, token]) t.notOk(log.includes(text))
})

t.test('a malformed key ring stops the start, and says so without the key', async (t) => {
  const ingest = await startIngest(t)
  await ingest.service.stop()
  const ring = 'k1:bm90IDMyIGJ5dGVz'
  await t.rejects(ingest.service.restart({ SECRETS_MASTER_KEYS: ring }), {
    message: /SECRETS_MASTER_KEYS: key 1 of the ring is not the base64 of 32 bytes/,
  })
  t.notOk(ingest.service.logs().includes('bm90IDMyIGJ5dGVz'))
})
