import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { processIdentity } from './managed-process.ts'
import { joinSharedCluster } from './shared-cluster.ts'
import { waitFor } from './wait-for.ts'

interface TestDatabaseTemplate {
  name: string
  /**
   * What the migrated shape depends on, e.g. the names of all migrations and a digest of their
   * text. Without it the template lives for one run of tap, or one process outside of tap.
   */
  hash?: string
  /** Brings an empty database up to date. It must close every connection that it opens. */
  migrate: (url: string) => Promise<void>
}

export interface TestDatabaseOptions {
  /** Migrated once, then cloned for each caller. Without it the database is empty. */
  template?: TestDatabaseTemplate
}

export interface TestDatabase {
  url: string
  name: string
  /** Not needed for tidiness: the whole cluster goes away after the run. */
  drop(): Promise<void>
}

export interface TestCluster {
  /** A role that may create databases, but is no superuser. */
  adminUrl: string
  createDatabase(options?: TestDatabaseOptions): Promise<TestDatabase>
  /** Gives up this process's share of the cluster; its end does the same. */
  close(): void
}

const SESSIONS_TIMEOUT_MS = 5_000

let shared: Promise<TestCluster> | undefined

/**
 * The PostgreSQL cluster of this test run: a real one, shared by all test files, started by the
 * first and gone a while after the last. DATABASE_URL (a role with createdb) overrides it.
 */
export const testDatabase = (): Promise<TestCluster> => {
  shared ??= openCluster()
  return shared
}

/** A fresh database in the cluster of this run: one per test file, or per test. */
export const createDatabase = async (options?: TestDatabaseOptions): Promise<TestDatabase> =>
  (await testDatabase()).createDatabase(options)

const openCluster = async (): Promise<TestCluster> => {
  const given = process.env.DATABASE_URL
  const { adminUrl, close } =
    given === undefined || given === ''
      ? await joinSharedCluster()
      : { adminUrl: given, close: () => {} }
  return {
    adminUrl,
    createDatabase: (options = {}) => create(adminUrl, options),
    close: () => {
      shared = undefined
      close()
    },
  }
}

const databaseUrl = (adminUrl: string, name: string): string => {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

const withAdmin = async <T>(adminUrl: string, work: (admin: pg.Client) => Promise<T>) => {
  const admin = new pg.Client(adminUrl)
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

const create = (adminUrl: string, { template }: TestDatabaseOptions): Promise<TestDatabase> =>
  withAdmin(adminUrl, async (admin) => {
    const name = `test_${randomBytes(8).toString('hex')}`
    const source = template && (await ensureTemplate(admin, adminUrl, template))
    // Copying files is five times faster here than logging each page, PostgreSQL's default.
    await admin.query(
      `create database ${name} template ${source ?? 'template1'} strategy file_copy`,
    )
    return {
      name,
      url: databaseUrl(adminUrl, name),
      drop: () => withAdmin(adminUrl, (client) => dropDatabase(client, name)),
    }
  })

/**
 * Sessions that just closed, and the server's own workers, may still be in it for a moment; those
 * of the server may not be ended by force.
 */
const dropDatabase = async (client: pg.Client, name: string): Promise<void> => {
  await waitFor(
    async () => {
      await client.query(`drop database if exists ${name} with (force)`)
      return true
    },
    { timeout_ms: SESSIONS_TIMEOUT_MS, what: `the database ${name} to be unused` },
  )
}

/** All files of one tap run have the same parent; outside of tap each process is its own run. */
const currentRun = (): string => {
  const pid = process.env.TAP === '1' ? process.ppid : process.pid
  return `${pid} ${processIdentity(pid)}`
}

/** The name of the migrated template, which the first to ask for it builds. */
const ensureTemplate = async (
  admin: pg.Client,
  adminUrl: string,
  { name, hash = currentRun(), migrate }: TestDatabaseTemplate,
): Promise<string> => {
  const digest = createHash('sha256').update(`${name}\0${hash}`).digest()
  const label = name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '_')
    .slice(0, 30)
  const template = `template_${label}_${digest.toString('hex', 0, 8)}`
  const lock = digest.readBigInt64BE().toString()
  await admin.query('select pg_advisory_lock($1)', [lock])
  try {
    const known = await admin.query('select from pg_database where datname = $1', [template])
    if (known.rowCount === 0) await buildTemplate(admin, adminUrl, template, migrate)
  } finally {
    await admin.query('select pg_advisory_unlock($1)', [lock])
  }
  return template
}

const buildTemplate = async (
  admin: pg.Client,
  adminUrl: string,
  template: string,
  migrate: TestDatabaseTemplate['migrate'],
): Promise<void> => {
  // Under another name until it is complete: a run that dies here leaves no half template.
  const draft = `${template}_draft`
  await admin.query(`drop database if exists ${draft} with (force)`)
  await admin.query(`create database ${draft}`)
  await migrate(databaseUrl(adminUrl, draft))
  const isUnused = async (): Promise<boolean> => {
    const sessions = await admin.query('select from pg_stat_activity where datname = $1', [draft])
    return sessions.rowCount === 0
  }
  await waitFor(isUnused, {
    timeout_ms: SESSIONS_TIMEOUT_MS,
    what: 'the migration to close its connections',
  })
  await admin.query(`alter database ${draft} rename to ${template}`)
  // Nobody connects by mistake, not even autovacuum, which would make the next clone fail.
  await admin.query(`alter database ${template} with allow_connections false`)
}
