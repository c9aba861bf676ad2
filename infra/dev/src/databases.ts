import pg from 'pg'

// One database and one role for each service; nobody else may connect to it.

/** Prefixed, because a server that was given by URL may hold databases of others. */
const databaseName = (service: string): string => `guildhall_${service.replaceAll('-', '_')}`

export const serviceDatabaseUrl = (adminUrl: string, service: string, password: string): string => {
  const url = new URL(adminUrl)
  url.username = databaseName(service)
  url.password = password
  url.pathname = `/${databaseName(service)}`
  return url.href
}

const exists = async (admin: pg.Client, sql: string, name: string): Promise<boolean> =>
  (await admin.query(sql, [name])).rowCount !== 0

const ensureDatabase = async (admin: pg.Client, name: string, password: string): Promise<void> => {
  const hasRole = await exists(admin, 'select from pg_roles where rolname = $1', name)
  const verb = hasRole ? 'alter' : 'create'
  await admin.query(`${verb} role ${name} login password ${pg.escapeLiteral(password)}`)
  if (await exists(admin, 'select from pg_database where datname = $1', name)) return
  // Only a superuser may make a database for a role that it is not a member of.
  const { rows } = await admin.query('select usesuper from pg_user where usename = current_user')
  if (rows[0]?.usesuper !== true) await admin.query(`grant ${name} to current_user`)
  await admin.query(`create database ${name} owner ${name}`)
  await admin.query(`revoke all on database ${name} from public`)
}

/** Makes what is missing, and sets the passwords. `passwords` is by service. */
export const ensureDatabases = async (
  adminUrl: string,
  passwords: Readonly<Record<string, string>>,
): Promise<void> => {
  const admin = new pg.Client(adminUrl)
  await admin.connect()
  try {
    for (const [service, password] of Object.entries(passwords)) {
      await ensureDatabase(admin, databaseName(service), password)
    }
  } finally {
    await admin.end()
  }
}

/** Tells one database from another of the same name, e.g. after var/postgres was deleted. */
export const databaseIdentity = async (url: string): Promise<string> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const sql = `select system_identifier || '/' || oid as identity
      from pg_control_system(), pg_database where datname = current_database()`
    return String((await client.query(sql)).rows[0]?.identity)
  } finally {
    await client.end()
  }
}
