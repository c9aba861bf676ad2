import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { applyTopology, connectBus, createCaller, createKv } from '@guildhall/bus'
import {
  buckets,
  credentialKey,
  defaultGrants,
  endpointKey,
  IdentityCredential,
  IdentityEndpoint,
  login,
} from '@guildhall/contracts'
import { createLogger } from '@guildhall/runtime'
import { createDatabase, freePort, startNats, startService } from '@guildhall/testing'
import t, { type Test } from 'tap'

const entry = (name: string): string => fileURLToPath(new URL(`../src/${name}.js`, import.meta.url))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs an entry point to its end. */
const run = (name: string, env: NodeJS.ProcessEnv, args: string[] = []): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry(name), ...args], {
      env: { PATH: process.env.PATH, ...env },
      timeout: 30_000,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })

const installation = async (t: Test) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const { url } = await createDatabase()
  const log = createLogger({ service: 'test', level: 'silent' })
  const bus = await connectBus({ url: nats.url, service: 'mcp-gateway', log })
  t.teardown(() => bus.close())
  await applyTopology(bus)
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: url,
    NATS_URL: nats.url,
    PUBLIC_MCP_URL: 'http://127.0.0.1:8080/mcp',
    PUBLIC_LOGIN_URL: 'http://127.0.0.1:8080/login',
    TOKEN_DERIVATION_KEY: randomBytes(32).toString('base64'),
  }
  return { bus, env }
}

const tokenOf = (login_url: string): string => new URL(login_url).searchParams.get('token') ?? ''

t.test('a new installation gets an owner who can log in and an agent that can work', async (t) => {
  const { bus, env } = await installation(t)
  const migrated = await Promise.all([run('migrate', env), run('migrate', env)])
  t.strictSame(
    migrated.map(({ code }) => code),
    [0, 0],
  )
  const first = await run('bootstrap', env)
  t.equal(first.code, 0, first.stderr)
  const { owner, agent } = JSON.parse(first.stdout)
  t.strictSame(Object.keys({ ...owner, ...agent }).sort(), [
    'agent_id',
    'api_token',
    'endpoint_id',
    'login_url',
    'token',
    'user_id',
    'username',
  ])
  t.match(owner.login_url, /^http:\/\/127\.0\.0\.1:8080\/login\?token=[A-Za-z0-9_-]{43}$/)

  const endpoints = createKv(bus, buckets.identity, IdentityEndpoint)
  const credentials = createKv(bus, buckets.identity, IdentityCredential)
  t.match((await endpoints.get(endpointKey(agent.endpoint_id)))?.value.endpoint, {
    agent_id: agent.agent_id,
    agent_name: 'first-agent',
    user_id: owner.user_id,
    queues: ['inbox', 'reviews'],
    tools: [...defaultGrants],
    webhook_max: 5,
  })
  t.match((await credentials.get(credentialKey(agent.token)))?.value, {
    endpoint_id: agent.endpoint_id,
    revoked: false,
  })
  t.match((await credentials.get(credentialKey(owner.api_token)))?.value, {
    user_id: owner.user_id,
    revoked: false,
  })

  const again = await Promise.all([
    run('bootstrap', env),
    run('bootstrap', env, ['--login-link', 'owner']),
  ])
  const links = again.map(({ stdout }) => JSON.parse(stdout))
  for (const link of links) {
    t.strictSame(link, {
      already: true,
      owner: { user_id: owner.user_id, login_url: link.owner.login_url },
    })
  }

  const port = await freePort()
  const service = await startService({
    entry: entry('main'),
    name: 'approvals',
    env: { ...env, OPS_PORT: String(port) },
    readyUrl: `http://127.0.0.1:${port}/ready`,
  })
  t.teardown(() => service.kill())
  const { call } = createCaller(bus)
  for (const { login_url } of [owner, ...links.map((link) => link.owner)]) {
    const proof = { login_token: tokenOf(login_url) }
    t.match(await call(login, { proof, client_address: '127.0.0.1' }, {}), { username: 'owner' })
  }
  t.match(await service.stop(), { code: 0 })
})

t.test('two bootstraps at once make one owner', async (t) => {
  const { env } = await installation(t)
  await run('migrate', env)
  const both = await Promise.all([run('bootstrap', env), run('bootstrap', env)])
  const answers = both.map(({ stdout }) => JSON.parse(stdout))

  t.strictSame(answers.map((answer) => answer.already === true).sort(), [false, true])
})

t.test('reconcile by hand fills an empty bucket', async (t) => {
  const { bus, env } = await installation(t)
  await run('migrate', env)
  const { agent } = JSON.parse((await run('bootstrap', env)).stdout)
  const endpoints = createKv(bus, buckets.identity, IdentityEndpoint)
  await endpoints.delete(endpointKey(agent.endpoint_id))
  const { code, stdout } = await run('reconcile', env)

  t.equal(code, 0)
  t.match(JSON.parse(stdout), { endpoints: { seen: 1, written: 1 } })
  t.match((await endpoints.get(endpointKey(agent.endpoint_id)))?.value.endpoint, { version: 1 })
})

t.test('a login link for somebody unknown, and a bad environment, end with a reason', async (t) => {
  const { env } = await installation(t)
  await run('migrate', env)
  const unknown = await run('bootstrap', env, ['--login-link', 'nobody'])
  const short_key = await run('main', { ...env, TOKEN_DERIVATION_KEY: 'AAAA' })

  t.equal(unknown.code, 1)
  t.match(unknown.stderr, /there is no user named/)
  t.equal(short_key.code, 1)
  t.match(short_key.stderr, /TOKEN_DERIVATION_KEY: must be 32 bytes/)
})
