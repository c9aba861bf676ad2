import {
  claimNext,
  complete,
  createApiToken,
  createWebhook,
  heartbeat,
  listWebhookEvents,
  replayWebhookEvent,
  rotateEndpoint,
  rotateWebhook,
  setPassword,
  setWebhookSecret,
} from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { postRpc } from './support/agent.ts'
import { attach } from './support/event-stream.ts'
import { send } from './support/http.ts'
import { firstOwner, logIn } from './support/owner.ts'
import { filesWith, tablesWith } from './support/plain-text.ts'
import { logLines, runningSystem } from './support/running-system.ts'
import { accepted, deliver, githubBody, signature } from './support/webhook.ts'

/** A whole working day with everything logged, and then a search for every secret in it. */

const DATABASES = ['approvals', 'tasks', 'ingest'] as const

const BODY = '{"hello":"world"}'

const system = await runningSystem(t, { log_level: 'debug' })
const owner = firstOwner(system)
const [mcp_url = '', api_url = ''] = [system.mcp_urls[0], system.api_urls[0]]

/** What must be found nowhere, by what it is. */
const secrets = new Map<string, string>()
const keep = (what: string, secret: string | null | undefined): string => {
  if (secret === null || secret === undefined || secret.length < 12) throw new Error(`no ${what}`)
  secrets.set(what, secret)
  return secret
}
const urlToken = (ingest_url: string): string | undefined => ingest_url.split('/').at(-1)

const actAsOwner = async (): Promise<void> => {
  keep('API token', system.owner.api_token)
  const login_token = keep('login token', new URL(system.owner.login_url).searchParams.get('token'))
  const { cookie, csrf_token } = await logIn(api_url, { login_token })
  keep('cookie', cookie.split('=')[1])
  keep('CSRF token', csrf_token)
  await send(`${api_url}/me`, { headers: { cookie } })
  await logIn(api_url, { login_token })
  const { token } = await owner.call(createApiToken, { name: 'another' })
  keep('another API token', token)
  const password = keep('password', 'correct horse battery staple')
  await owner.call(setPassword, { password })
  await logIn(api_url, { username: 'owner', password })
  await logIn(api_url, { username: 'owner', password: keep('wrong password', 'wrong-password-1') })
}

const actAsAgent = async (): Promise<void> => {
  const agent = await owner.vend({ queues: ['inbox'], webhook_max: 5 })
  keep('agent token', agent.token)
  const stream = await attach(mcp_url, agent.token)
  const into = { target_queue: 'inbox' }
  const github = await agent.call(createWebhook, { source_type: 'github', ...into })
  keep('minted webhook secret', github.signing_secret)
  keep('token in a webhook URL', urlToken(github.ingest_url))
  const generic = await agent.call(createWebhook, { source_type: 'generic', ...into })
  keep('token in the URL of a generic webhook', urlToken(generic.ingest_url))
  const stripe = await agent.call(createWebhook, { source_type: 'stripe', ...into })
  const signing_secret = keep('given webhook secret', 'whsec_given_by_the_provider_1')
  await agent.call(setWebhookSecret, { webhook_id: stripe.webhook_id, signing_secret })
  await agent.refused('set_webhook_secret', {
    webhook_id: stripe.webhook_id,
    signing_secret: keep('refused webhook secret', ' refused secret of a provider '),
  })

  const body = githubBody('issues', 'opened', 'today')
  accepted(await deliver(github, { body, event: 'issues' }))
  keep('signature of a delivery', signature(github.signing_secret ?? '', body).slice(7))
  await deliver(github, {
    body,
    event: 'issues',
    signature: keep('forged', `sha256=${'ab'.repeat(32)}`),
  })
  const posted = await send(generic.ingest_url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keep('credential of a sender', 'sender-credential-1')}`,
      cookie: `session=${keep('cookie of a sender', 'sender-cookie-12')}`,
      'x-api-key': keep('API key of a sender', 'sender-api-key-1'),
      referer: `https://example.com/?token=${keep('token in a header', 'sender-url-token-1')}`,
    },
    body: BODY,
  })
  accepted(posted)

  for (const turn of [1, 2]) {
    const { todo, lease_token } = await agent.call(claimNext, { wait_seconds: 20 })
    keep(`lease token ${turn}`, lease_token)
    await agent.call(heartbeat, { id: todo?.id ?? '', lease_token })
    const wrong = keep('wrong lease token', 'not-the-lease-token')
    await agent.refused('complete', { id: todo?.id, lease_token: wrong })
    await agent.call(complete, {
      id: todo?.id ?? '',
      lease_token,
      summary: 'done by the agent',
    })
  }
  const event = await waitFor(
    async () => (await agent.call(listWebhookEvents, { provider: 'github' })).events[0],
    { what: 'the event in the history' },
  )
  await agent.call(replayWebhookEvent, { id: event.id })
  const rotated = await agent.call(rotateWebhook, { webhook_id: github.webhook_id })
  keep('rotated webhook secret', rotated.signing_secret)
  keep('token in the rotated URL', urlToken(rotated.ingest_url))
  stream.close()
  const { endpoint_id } = agent.endpoint
  const { token } = await owner.call(rotateEndpoint, { endpoint_id })
  keep('rotated agent token', token)
  await postRpc(mcp_url, agent.token, 'tools/list')
  await postRpc(mcp_url, keep('unknown agent token', `agt_${'u'.repeat(43)}`), 'tools/list')
}

t.test('no secret is in any log, table or file of the bus', async (t) => {
  await actAsOwner()
  await actAsAgent()
  const logs = logLines(system)
  const other_logs = [...system.nats.logs().split('\n'), ...system.postgres.logs().split('\n')]
  for (const operation of ['login', 'claim_next', 'rotate_webhook', 'set_password']) {
    t.ok(
      logs.some((line) => line.includes(`"${operation}"`)),
      `${operation} was logged`,
    )
  }
  // What is no secret is found, in text and in bytes: the search works.
  for (const [database, known] of [
    ['approvals', 'first-agent'],
    ['tasks', 'done by the agent'],
    ['ingest', BODY],
  ] as const) {
    const isFound = async () => (await tablesWith(system.postgres.url(database), known)).length > 0
    await waitFor(isFound, { what: `${known} in ${database}` })
  }
  t.ok(filesWith(system.nats.storeDir, 'first-agent').length > 0, 'and in the files of the bus')

  for (const [what, secret] of secrets) {
    const lines = [...logs, ...other_logs].filter((line) => line.includes(secret))
    t.strictSame(lines, [], `${what}: in no log`)
    for (const database of DATABASES) {
      const found = await tablesWith(system.postgres.url(database), secret)
      t.strictSame(found, [], `${what}: in no table of ${database}`)
    }
    t.strictSame(filesWith(system.nats.storeDir, secret), [], `${what}: in no file of the bus`)
  }
})
