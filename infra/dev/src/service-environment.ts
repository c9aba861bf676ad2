import { serviceDatabaseUrl } from './databases.ts'
import type { Keys } from './keys.ts'
import { ADMIN_USER } from './nats-permissions.ts'
import type { Ports } from './ports.ts'
import type { ServiceDefinition } from './services.ts'

/** Where the two servers are, our own or given ones. */
export interface Servers {
  natsUrl: string
  /** Of a server that was given by URL; ours has one user per service instead. */
  natsLogin?: { user?: string; password?: string }
  databaseAdminUrl: string
  /** Ours keeps a password per service role; so do roles that we make on a given server. */
  keys: Keys
  ports: Ports
}

export interface PublicUrls {
  mcp: string
  api: string
  login: string
  ingest: string
}

// What a service may inherit from the shell that ran `make up`. Not more: a stray DATABASE_URL or
// PORT there must not reach a service.
const INHERITED =
  /^(PATH|HOME|TZ|LANG|LC_\w+|LOG_LEVEL|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|OTEL_\w+|GUILDHALL_\w+|(HTTPS?|NO)_PROXY)$/i

const inherited = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name)))

const httpPort = (ports: Ports, service: string, fallback: number): number =>
  ports.services.get(service)?.http ?? fallback

export const publicUrls = (ports: Ports, base: number): PublicUrls => {
  const gateway = `http://127.0.0.1:${httpPort(ports, 'mcp-gateway', base)}`
  return {
    mcp: `${gateway}/mcp`,
    api: `${gateway}/api`,
    login: `${gateway}/login`,
    ingest: `http://127.0.0.1:${httpPort(ports, 'ingest', base + 1)}`,
  }
}

const natsEnvironment = (
  { natsUrl, natsLogin, keys }: Servers,
  user: string,
): NodeJS.ProcessEnv => {
  if (natsLogin === undefined) {
    return { NATS_URL: natsUrl, NATS_USER: user, NATS_PASSWORD: keys.nats[user] }
  }
  const { user: givenUser, password } = natsLogin
  return {
    NATS_URL: natsUrl,
    ...(givenUser === undefined ? {} : { NATS_USER: givenUser }),
    ...(password === undefined ? {} : { NATS_PASSWORD: password }),
  }
}

/** The whole environment of a service, its migration and its bootstrap. */
export const serviceEnvironment = (
  service: ServiceDefinition,
  servers: Servers,
  urls: PublicUrls,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => {
  const { name, database, keys: keyNames } = service
  const { keys, ports, databaseAdminUrl } = servers
  const own = ports.services.get(name)
  return {
    ...inherited(env),
    NODE_ENV: 'development',
    SERVICE_NAME: name,
    ...natsEnvironment(servers, name),
    ...(database
      ? { DATABASE_URL: serviceDatabaseUrl(databaseAdminUrl, name, keys.postgres[name] ?? '') }
      : {}),
    HTTP_HOST: '127.0.0.1',
    ...(own?.http === undefined ? {} : { HTTP_PORT: `${own.http}` }),
    OPS_PORT: `${own?.ops}`,
    PUBLIC_MCP_URL: urls.mcp,
    PUBLIC_LOGIN_URL: urls.login,
    PUBLIC_INGEST_URL: urls.ingest,
    ...Object.fromEntries(keyNames.map((key) => [key, keys.environment[key]])),
  }
}

/** For the step that makes the streams and buckets. */
export const provisionEnvironment = (
  servers: Servers,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => ({
  ...inherited(env),
  NODE_ENV: 'development',
  SERVICE_NAME: 'provision',
  ...natsEnvironment(servers, ADMIN_USER),
})
