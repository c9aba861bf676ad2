import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { headers as headerNames, subjects } from '@guildhall/contracts'
import {
  createDatabase,
  freePort,
  type RunningService,
  startNats,
  startService,
} from '@guildhall/testing'
import { connect, headers as natsHeaders } from 'nats'
import type { Test } from 'tap'

/** The compiled ingest service as a process, with a bus and a database of its own. */

const compiled = (path: string): string =>
  fileURLToPath(new URL(`../../../${path}`, import.meta.url))

const run = promisify(execFile)
const runOnce = (path: string, env: Readonly<Record<string, string>>) =>
  run(process.execPath, [compiled(path)], { env: { PATH: process.env.PATH, ...env } })

const migratedDatabase = async (): Promise<string> => {
  const migrate = async (url: string): Promise<void> => {
    await runOnce('services/ingest/dist/src/migrate.js', { DATABASE_URL: url })
  }
  return (await createDatabase({ template: { name: 'ingest-contract', migrate } })).url
}

interface Webhook {
  readonly webhook_id: string
  readonly ingest_url: string
  readonly signing_secret?: string
  readonly warning?: string
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

interface Ingest {
  readonly service: RunningService
  create(input: Readonly<Record<string, string>>): Promise<Webhook>
  post(url: string, body: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

const OWNER = { kind: 'human', user_id: 1 }

/** A call as any client of the bus may make it, without our library. */
const callOver = (url: string, t: Test) => {
  const connected = connect({ servers: url })
  t.teardown(async () => (await connected).close())
  return async (name: string, input: object): Promise<unknown> => {
    const nc = await connected
    const fields = natsHeaders()
    fields.set(headerNames.principal, JSON.stringify(OWNER))
    const subject = subjects.rpc({ service: 'ingest', name })
    const answer = await nc.request(subject, JSON.stringify(input), {
      timeout: 5_000,
      headers: fields,
    })
    if (answer.headers?.has(headerNames.error) === true) throw new Error(answer.string())
    return answer.json()
  }
}

export const startIngest = async (t: Test): Promise<Ingest> => {
  const nats = await startNats()
  t.teardown(() => nats.stop())
  await runOnce('libs/bus/dist/src/provision.js', { NATS_URL: nats.url, NODE_ENV: 'test' })
  const [http, ops] = [await freePort(), await freePort()]
  const service = await startService({
    name: 'ingest',
    entry: compiled('services/ingest/dist/src/main.js'),
    readyUrl: `http://127.0.0.1:${ops}/ready`,
    env: {
      NODE_ENV: 'test',
      NATS_URL: nats.url,
      DATABASE_URL: await migratedDatabase(),
      HTTP_PORT: String(http),
      OPS_PORT: String(ops),
      PUBLIC_INGEST_URL: `http://127.0.0.1:${http}`,
      SECRETS_MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      WEBHOOK_RATE_PER_SECOND: '10000',
      WEBHOOK_RATE_BURST: '10000',
      CLIENT_RATE_PER_SECOND: '10000',
      CLIENT_RATE_BURST: '10000',
    },
  })
  t.teardown(() => service.stop())
  const call = callOver(nats.url, t)
  return {
    service,
    create: async (input) =>
      (await call('create_webhook', { target_queue: 'inbox', ...input })) as Webhook, // its fields are asserted by use
    post: async (url, body, headers = {}) => {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
      const json = (await answer.json()) as Answer['body'] // every answer of this service is an object
      return { status: answer.status, body: json }
    },
  }
}
