import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  createApiToken,
  type Endpoint,
  type Operation,
  type OutputOf,
  routesOf,
  vendEndpoint,
} from '@guildhall/contracts'
import type { System } from '@guildhall/testing'
import pg from 'pg'
import type { z } from 'zod'
import { type Agent, agentAt } from './agent.ts'
import { type Answer, send } from './http.ts'

/** An owner at the REST API, by API token. */

export interface Vended extends Agent {
  readonly endpoint: Endpoint
}

export interface Owner {
  readonly api_url: string
  readonly api_token: string
  /** `path` below /api, e.g. /todos. */
  rest(method: string, path: string, body?: unknown, headers?: object): Promise<Answer>
  /** By the route that the contract names; throws when refused. */
  call<Op extends Operation>(op: Op, input: z.input<Op['input']>): Promise<OutputOf<Op>>
  /** An endpoint with a credential; the rates are out of the way unless set. */
  vend(settings: VendSettings, mcp_url?: string): Promise<Vended>
}

type VendSettings = Omit<z.input<(typeof vendEndpoint)['input']>, 'agent'> & {
  readonly agent?: string
}

const GENEROUS = { per_second: 10_000, burst: 100_000 }

const fill = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replace(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(`${input[name]}`))

/** Method, path and body that the contract gives an operation. */
export const requestOf = (
  op: Operation,
  input: Readonly<Record<string, unknown>>,
): { method: string; path: string; body: Record<string, unknown> | undefined } => {
  const [http] = routesOf(op)
  if (http === undefined) throw new Error(`${op.name} has no route`)
  const in_path = new Set([...http.path.matchAll(/\{([a-z_]+)\}/g)].map(([, field]) => field))
  const rest = Object.entries(input).filter(([field]) => !in_path.has(field))
  const path = fill(http.path, input).replace(/^\/api/, '')
  if (http.method === 'GET' || http.method === 'DELETE') {
    const query = new URLSearchParams(
      rest.map(([field, value]): [string, string] => [field, `${value}`]),
    )
    return {
      method: http.method,
      path: query.size > 0 ? `${path}?${query}` : path,
      body: undefined,
    }
  }
  return { method: http.method, path, body: Object.fromEntries(rest) }
}

const ownerAt = (api_url: string, mcp_url: string, api_token: string): Owner => {
  const rest: Owner['rest'] = (method, path, body, headers = {}) =>
    send(`${api_url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${api_token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  const call: Owner['call'] = async (op, input) => {
    const { method, path, body } = requestOf(op, input as Record<string, unknown>) // all are objects
    const answer = await rest(method, path, body)
    if (answer.status !== 200) throw new Error(`${op.name}: ${answer.status} ${answer.text}`)
    return op.output.parse(answer.body) as OutputOf<typeof op> // just parsed
  }
  return {
    api_url,
    api_token,
    rest,
    call,
    vend: async ({ agent = `agent-${randomUUID().slice(0, 8)}`, ...settings }, at = mcp_url) => {
      const input = { agent: { name: agent }, rate_limit: GENEROUS, ...settings }
      const { endpoint, token } = await call(vendEndpoint, input)
      return { ...agentAt(at, token), endpoint }
    },
  }
}

export const firstOwner = ({ api_urls, mcp_urls, owner }: System): Owner =>
  ownerAt(api_urls[0] ?? '', mcp_urls[0] ?? '', owner.api_token)

const run = promisify(execFile)
const BOOTSTRAP = fileURLToPath(
  new URL('../../../../services/approvals/dist/src/bootstrap.js', import.meta.url),
)

/**
 * A second person. There is no way to invite one yet, so the row is made by hand; everything after
 * it, the login link included, goes the way that a real person goes.
 */
export const secondOwner = async (system: System, username: string): Promise<Owner> => {
  const { postgres, nats, api_urls, mcp_urls } = system
  const [api_url = '', mcp_url = ''] = [api_urls[0], mcp_urls[0]]
  const client = new pg.Client({ connectionString: postgres.url('approvals') })
  await client.connect()
  await client.query('insert into users (username, created_at) values ($1, now())', [username])
  await client.end()
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    NATS_URL: nats.url,
    DATABASE_URL: postgres.url('approvals'),
    PUBLIC_LOGIN_URL: `${new URL(api_url).origin}/login`,
  }
  const { stdout } = await run(process.execPath, [BOOTSTRAP, '--login-link', username], { env })
  const { owner } = JSON.parse(stdout)
  const login_token = new URL(owner.login_url).searchParams.get('token')
  const { cookie, csrf_token } = await logIn(api_url, { login_token })
  const answer = await send(`${api_url}/tokens`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': csrf_token, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'by hand' }),
  })
  const { token } = createApiToken.output.parse(answer.body)
  return ownerAt(api_url, mcp_url, token)
}

interface Session {
  readonly answer: Answer
  /** As a browser sends it back. */
  readonly cookie: string
  readonly csrf_token: string
}

export const logIn = async (api_url: string, proof: object): Promise<Session> => {
  const answer = await send(`${api_url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(proof),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { csrf_token = '' } = (answer.body ?? {}) as { csrf_token?: string } // absent on a refusal
  return { answer, cookie, csrf_token }
}
