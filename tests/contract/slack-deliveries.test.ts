import { createHmac } from 'node:crypto'
import { isValidSlackRequest } from '@slack/bolt'
import t from 'tap'
import { startIngest } from './ingest-process.ts'

/** Requests as Slack makes them, judged by Slack's own verifier and by ours. */

const SECRET = '8f742231b10e8888abcd99aabbcc85a5'

interface Signed {
  readonly time?: number
  readonly secret?: string
  readonly prefix?: string
}

const sign = (body: string, { time = nowSeconds(), secret = SECRET, prefix = 'v0=' }: Signed) => ({
  'x-slack-request-timestamp': String(time),
  'x-slack-signature':
    prefix + createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex'),
})

const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

const accepts = (body: string, headers: ReturnType<typeof sign>): boolean =>
  isValidSlackRequest({
    signingSecret: SECRET,
    body,
    headers: {
      'x-slack-signature': headers['x-slack-signature'],
      'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
    },
  })

t.test('their verifier and ours agree', async (t) => {
  const ingest = await startIngest(t)
  const { ingest_url } = await ingest.create({ source_type: 'slack', signing_secret: SECRET })
  const body = '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}'
  const cases: Signed[] = [
    {},
    { time: nowSeconds() - 290 },
    { time: nowSeconds() - 310 },
    { secret: 'another-secret' },
    { prefix: 'v1=' },
    { prefix: '' },
  ]
  for (const signed of cases) {
    const headers = sign(body, signed)
    const { status } = await ingest.post(ingest_url, body, headers)
    t.equal(status, accepts(body, headers) ? 202 : 401, JSON.stringify(signed))
  }
  const tampered = sign('{}', {})
  t.equal(accepts(body, tampered), false)
  t.equal((await ingest.post(ingest_url, body, tampered)).status, 401)
})

t.test('an event that Slack sends again is the same todo; a challenge is answered', async (t) => {
  const ingest = await startIngest(t)
  const { ingest_url } = await ingest.create({ source_type: 'slack', signing_secret: SECRET })
  const event = (n: number) => `{"type":"event_callback","event_id":"Ev1","retry":${n}}`
  const send = (body: string) => ingest.post(ingest_url, body, sign(body, {}))
  const first = await send(event(0))
  t.match(first, { status: 202, body: { created: 1 } })
  t.match(await send(event(1)), { status: 202, body: { created: 0, id: first.body.id } })
  const challenge =
    '{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}'
  t.strictSame(await send(challenge), {
    status: 200,
    body: { challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' },
  })
})
