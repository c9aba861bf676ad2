import { randomBytes } from 'node:crypto'
import type { Layout } from './layout.ts'
import { readJson, writePrivateJson } from './private-file.ts'
import type { KeyName } from './services.ts'

// Generated at the first `up` and kept: what is sealed with a key is lost with it. They are for
// development; production mounts its own.

export interface Keys {
  /** By environment variable. */
  environment: Record<KeyName, string>
  /** By NATS user. */
  nats: Record<string, string>
  /** By service. */
  postgres: Record<string, string>
}

const KEY_BYTES = 32
const PASSWORD_BYTES = 24

const password = (): string => randomBytes(PASSWORD_BYTES).toString('hex')
const key = (): string => randomBytes(KEY_BYTES).toString('base64')

const complete = (known: Record<string, string>, names: readonly string[]) => ({
  ...Object.fromEntries(names.map((name) => [name, password()])),
  ...known,
})

/** Reads the keys, and adds those that are missing, e.g. for a service that is new. */
export const loadKeys = (
  layout: Layout,
  natsUsers: readonly string[],
  databases: readonly string[],
): Keys => {
  // `as`: only this function writes the file.
  const known = (readJson(layout.keysFile) ?? {}) as Partial<Keys>
  const keys: Keys = {
    environment: {
      SECRETS_MASTER_KEYS: `k1:${key()}`,
      VAULT_MASTER_KEYS: `k1:${key()}`,
      LEASE_TOKEN_KEY: key(),
      TOKEN_DERIVATION_KEY: key(),
      ...known.environment,
    },
    nats: complete(known.nats ?? {}, natsUsers),
    postgres: complete(known.postgres ?? {}, databases),
  }
  writePrivateJson(layout.keysFile, keys)
  return keys
}
