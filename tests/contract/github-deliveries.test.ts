import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { Webhooks } from '@octokit/webhooks'
import t from 'tap'
import { startIngest } from './ingest-process.ts'

/** GitHub's own payloads, signed by GitHub's own library. */

interface Definition {
  readonly name: string
  readonly examples: readonly object[]
}
const load = createRequire(import.meta.url)
const definitions: readonly Definition[] = load('@octokit/webhooks-examples')

const headersOf = (event: string, signature: string, id = 'guid-1') => ({
  'x-github-event': event,
  'x-github-delivery': id,
  'x-hub-signature-256': signature,
})

t.test('every example payload that GitHub publishes is accepted once', async (t) => {
  const ingest = await startIngest(t)
  const { ingest_url, signing_secret: secret = '' } = await ingest.create({ source_type: 'github' })
  const github = new Webhooks({ secret })
  const seen = new Set<string>()
  for (const { name, examples } of definitions) {
    for (const example of examples) {
      const body = JSON.stringify(example)
      const signature = await github.sign(body)
      const answer = await ingest.post(ingest_url, body, headersOf(name, signature))
      const created = seen.has(body) ? 0 : 1
      seen.add(body)
      t.match(answer, { status: 202, body: { created, verified: true, queue: 'inbox' } }, name)
    }
  }
  t.ok(seen.size > 250, `${seen.size} different payloads`)
})

t.test('with a secret that we minted, their verifier and ours agree', async (t) => {
  const ingest = await startIngest(t)
  const { ingest_url, signing_secret: secret = '' } = await ingest.create({ source_type: 'github' })
  const github = new Webhooks({ secret })
  const body = '{"zen":"Practicality beats purity. — ✓"}'
  const digest = createHmac('sha256', secret).update(body).digest('hex')
  const signatures = [
    `sha256=${digest}`,
    `sha256=${digest.replace(/^./, (char) => (char === '0' ? '1' : '0'))}`,
    `sha1=${digest}`,
    digest,
  ]
  for (const signature of signatures) {
    const theirs = await github.verify(body, signature)
    const { status } = await ingest.post(ingest_url, body, headersOf('ping', signature))
    t.equal(status, theirs ? 202 : 401, signature.slice(0, 12))
  }
})
