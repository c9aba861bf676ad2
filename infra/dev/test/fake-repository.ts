import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isPortFree, natsBinary, processIdentity } from '@guildhall/testing'
import type { Test } from 'tap'
import type { DevFile } from '../src/dev-file.ts'
import type { ServiceDefinition } from '../src/services.ts'

// A repository with small stand-ins for the services, for `up` and `down` to run for real.

const SERVICES: readonly ServiceDefinition[] = [
  { name: 'mcp-gateway', ports: { http: 0, ops: 10 }, database: false, keys: [] },
  { name: 'approvals', ports: { ops: 13 }, database: true, keys: ['SECRETS_MASTER_KEYS'] },
]

const MAIN = `
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
if (process.env.GUILDHALL_FAKE_BROKEN === process.env.SERVICE_NAME) {
  console.error('the environment is not usable')
  process.exit(1)
}
if (process.env.GUILDHALL_FAKE_STUBBORN) process.on('SIGTERM', () => {})
writeFileSync(process.env.SERVICE_NAME + '.env.json', JSON.stringify(process.env))
console.log(JSON.stringify({ level: 30, time: Date.now(), msg: 'up' }))
createServer((_, reply) => reply.end('{}')).listen(Number(process.env.OPS_PORT), '127.0.0.1')
`

// Counts its runs in the database, so that a test sees whether the data survived.
const MIGRATE = `
import pg from 'PG'
const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
await client.query('create table if not exists runs (at timestamptz default now())')
await client.query('insert into runs default values')
await client.end()
`

const BOOTSTRAP = `
import pg from 'PG'
console.log('{"level":30,"msg":"a log line, which is not the answer"}')
const owner = { user_id: 1, login_url: process.env.PUBLIC_LOGIN_URL + '?token=' + Math.random() }
const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
const { rowCount } = await client.query('select from pg_tables where tablename = $1', ['owners'])
await client.query('create table if not exists owners ()')
await client.end()
console.log(JSON.stringify(rowCount ? { already: true, owner } : {
  owner: { ...owner, api_token: 'own_' + Math.random() },
  agent: { agent_id: 1, endpoint_id: 'ep_1', token: 'agt_' + Math.random() },
}))
`

const PROVISION = `
import { writeFileSync } from 'node:fs'
if ((process.env.NATS_USER ?? 'admin') !== 'admin') throw new Error('provision needs the admin')
writeFileSync('provisioned', '')
`

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{"type": "module"}',
  'libs/bus/dist/src/provision.js': PROVISION,
  'services/mcp-gateway/dist/src/main.js': MAIN,
  'services/approvals/dist/src/main.js': MAIN,
  'services/approvals/dist/src/migrate.js': MIGRATE,
  'services/approvals/dist/src/bootstrap.js': BOOTSTRAP,
}

interface Ran {
  code: number
  output: string
}

export interface FakeRepository {
  root: string
  portBase: number
  up(env?: NodeJS.ProcessEnv): Promise<Ran>
  /** Only starts it. */
  startUp(): ChildProcess
  down(): Promise<Ran>
  logs(): Promise<Ran>
  devFile(): DevFile
  read(path: string): string
}

export const isAlive = (pid: number): boolean => processIdentity(pid) !== undefined

/** What `up` gave a service. */
export const environmentOf = (
  repository: FakeRepository,
  service: string,
): Record<string, string> => JSON.parse(repository.read(`${service}.env.json`))

const compiled = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url))

const run = (script: string, args: string[], env: NodeJS.ProcessEnv): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(process.execPath, [compiled(script), ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    )
  })

/** A base of which every port that is used here is free. */
const freePortBase = async (): Promise<number> => {
  for (;;) {
    // Below those that freePort gives to other tests.
    const base = 10_000 + 40 * Math.floor(Math.random() * 240)
    const offsets = [0, 10, 13, 22, 23, 32]
    const free = await Promise.all(offsets.map((offset) => isPortFree(base + offset)))
    if (free.every(Boolean)) return base
  }
}

/** Stopped and removed with the test. */
export const createFakeRepository = async (t: Test): Promise<FakeRepository> => {
  // In this order: tap removes the directory before it runs a teardown that was added later.
  let repository: FakeRepository | undefined
  t.teardown(() => repository?.down())
  repository = await build(t.testdir())
  return repository
}

const build = async (root: string): Promise<FakeRepository> => {
  const pgEntry = import.meta.resolve('pg')
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text.replace("'PG'", JSON.stringify(pgEntry)))
  }
  const table = join(root, 'services.json')
  writeFileSync(table, JSON.stringify(SERVICES))
  const portBase = await freePortBase()
  const args = ['--root', root, '--services', table]
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    GUILDHALL_PORT_BASE: `${portBase}`,
    NATS_SERVER_BIN: (await natsBinary('newest')).path,
  }
  return {
    root,
    portBase,
    up: (more = {}) => run('up.js', args, { ...env, ...more }),
    startUp: () => spawn(process.execPath, [compiled('up.js'), ...args], { env }),
    down: () => run('down.js', args, env),
    logs: () => run('logs.js', ['--root', root, '--no-follow'], env),
    // `as`: what `up` wrote, which the tests then look at.
    devFile: () => JSON.parse(readFileSync(join(root, 'var/dev.json'), 'utf8')) as DevFile,
    read: (path) => readFileSync(join(root, path), 'utf8'),
  }
}
