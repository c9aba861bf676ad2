// What `make up` runs. A new service is one row here and one in nats-permissions.ts.

export interface ServiceDefinition {
  /** Its folder below services/, its NATS user, and the name of its log. */
  name: string
  /** Listeners, as offsets from the port base. Only services that the outside calls have `http`. */
  ports: { http?: number; ops: number }
  /** Whether it has a database, and a migrate.js beside its main.js. */
  database: boolean
  /** The generated keys that it is given; see keys.ts. */
  keys: readonly KeyName[]
}

export type KeyName =
  | 'SECRETS_MASTER_KEYS'
  | 'VAULT_MASTER_KEYS'
  | 'LEASE_TOKEN_KEY'
  | 'TOKEN_DERIVATION_KEY'

export const SERVICES: readonly ServiceDefinition[] = [
  { name: 'mcp-gateway', ports: { http: 0, ops: 10 }, database: false, keys: [] },
  { name: 'ingest', ports: { http: 1, ops: 11 }, database: true, keys: ['SECRETS_MASTER_KEYS'] },
  { name: 'tasks', ports: { ops: 12 }, database: true, keys: ['LEASE_TOKEN_KEY'] },
  { name: 'approvals', ports: { ops: 13 }, database: true, keys: ['TOKEN_DERIVATION_KEY'] },
  { name: 'reputation', ports: { ops: 14 }, database: true, keys: [] },
  { name: 'secrets', ports: { ops: 15 }, database: true, keys: ['VAULT_MASTER_KEYS'] },
  { name: 'verifier', ports: { ops: 16 }, database: false, keys: [] },
]

/** Makes the streams and buckets, as the NATS user `admin`, before any service starts. */
export const PROVISION_ENTRY = 'libs/bus/dist/src/provision.js'

/** Makes the first owner and agent, or only a new login link when they exist, with the environment of the service it belongs to. */
export const BOOTSTRAP_SERVICE = 'approvals'

export const migrateEntry = (service: string): string => `services/${service}/dist/src/migrate.js`
export const mainEntry = (service: string): string => `services/${service}/dist/src/main.js`
export const bootstrapEntry = (service: string): string =>
  `services/${service}/dist/src/bootstrap.js`

/** Those that keep a copy of theirs on the bus and can make it again. */
export const RECONCILING_SERVICES: readonly string[] = ['approvals', 'tasks', 'reputation']
export const reconcileEntry = (service: string): string =>
  `services/${service}/dist/src/reconcile.js`

/** Those that keep an audit log in chains. */
export const AUDITING_SERVICES: readonly string[] = ['approvals']
export const verifyAuditEntry = (service: string): string =>
  `services/${service}/dist/src/verify-audit.js`
