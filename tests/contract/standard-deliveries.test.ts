import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { startIngest } from './ingest-process.ts'

/** Messages signed by the reference library of Standard Webhooks, also as GitLab sends them. */

const BODY = '{"type":"user.created","data":{"name":"Jörg"}}'

const accepts = (verifier: Webhook, headers: Record<string, string>): boolean => {
  try {
    verifier.verify(BODY, headers)
    return true
  } catch {
    return false
  }
}

for (const source_type of ['standard', 'gitlab']) {
  t.test(`${source_type}: a secret that we minted works in the reference library`, async (t) => {
    const ingest = await startIngest(t)
    const { ingest_url, signing_secret = '' } = await ingest.create({ source_type })
    const sender = new Webhook(signing_secret)
    const stranger = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`)
    const at = (age_s: number, id = 'msg_1', signer = sender) => {
      const time = new Date(Date.now() - age_s * 1_000)
      return {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(time.getTime() / 1_000)),
        'webhook-signature': signer.sign(id, time, BODY),
      }
    }
    const cases: Record<string, string>[] = [
      at(0),
      at(290),
      at(310),
      at(-290),
      at(-310),
      at(0, 'msg_1', stranger),
      { ...at(0), 'webhook-id': 'msg_2' },
      { ...at(0), 'webhook-signature': `v1,AAAA ${at(0)['webhook-signature']}` },
      { ...at(0), 'webhook-signature': at(0)['webhook-signature'].replace('v1', 'v2') },
    ]
    for (const headers of cases) {
      const { status } = await ingest.post(ingest_url, BODY, headers)
      t.equal(status, accepts(sender, headers) ? 202 : 401, JSON.stringify(headers))
    }
    const again = await ingest.post(ingest_url, BODY, at(60))
    t.match(again.body, { created: 0, repeat: true }, 'the id names the message')
    const another = await ingest.post(ingest_url, BODY, at(0, 'msg_3'))
    t.match(another.body, { created: 1 }, 'another id is another message, with the same body')
  })
}
