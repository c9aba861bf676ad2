import { readFileSync } from 'node:fs'
import { SECRET_CALL_TIMEOUT_MS } from '@guildhall/contracts'
import {
  commaList,
  loadConfig,
  networkList,
  parsedBy,
  parseKeyRing,
  serviceConfigShape,
} from '@guildhall/runtime'
import { z } from 'zod'

const portList = (text: string): readonly number[] =>
  commaList(text).map((entry) => {
    const port = Number(entry)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new Error(`"${entry}" is no port`)
    }
    return port
  })

const certificates = (file: string): string => {
  if (file === '') return ''
  const text = readFileSync(file, 'utf8')
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${file} has no certificate`)
  return text
}

/** `api.example.test=127.0.0.1`, several for a name with several addresses. */
const staticHosts = (text: string): ReadonlyMap<string, readonly string[]> => {
  const hosts = new Map<string, readonly string[]>()
  for (const entry of commaList(text)) {
    const [host = '', address = '', ...more] = entry.split('=')
    if (host === '' || address === '' || more.length > 0) throw new Error('form: name=address')
    hosts.set(host, [...(hosts.get(host) ?? []), address])
  }
  return hosts
}

/** What the entry points of this service share. */
const vaultShape = {
  DATABASE_URL: z.string().min(1),
  /** `k2:<base64 of 32 bytes>[,k1:…]`: the first seals, all open. Or in a file, see below. */
  VAULT_MASTER_KEYS: parsedBy(parseKeyRing),
}

export const RotationConfig = z.object({
  ...vaultShape,
  LOG_LEVEL: serviceConfigShape.LOG_LEVEL,
})

export const SecretsConfig = z
  .object({
    ...serviceConfigShape,
    ...vaultShape,
    /** Ports that a call may go to beside 443. */
    SECRETS_EXTRA_PORTS: parsedBy(portList).prefault(''),
    /** Addresses that a call may go to although they are not public, as CIDRs. */
    SECRETS_ALLOWED_ADDRESSES: parsedBy(networkList).prefault(''),
    /** A file with certificates that are trusted beside the usual ones. */
    SECRETS_EXTRA_CA: parsedBy(certificates).prefault(''),
    /** Addresses of names, in place of asking the resolver. Not in production. */
    SECRETS_STATIC_HOSTS: parsedBy(staticHosts).prefault(''),
    SECRETS_CALL_TIMEOUT_MS: z.coerce
      .number()
      .int()
      .min(100)
      .max(SECRET_CALL_TIMEOUT_MS)
      .default(SECRET_CALL_TIMEOUT_MS),
  })
  .refine((config) => config.NODE_ENV !== 'production' || config.SECRETS_STATIC_HOSTS.size === 0, {
    path: ['SECRETS_STATIC_HOSTS'],
    message: 'must not be set in production',
  })
export type SecretsConfig = z.output<typeof SecretsConfig>

type Environment = Readonly<Record<string, string | undefined>>

const KEYS = 'VAULT_MASTER_KEYS'

/** Keys may stand in a file, as orchestrators mount them, so that no environment holds them. */
const withKeyFile = (env: Environment): Environment => {
  const file = env[`${KEYS}_FILE`]
  if (file === undefined || file === '' || (env[KEYS] ?? '') !== '') return env
  try {
    return { ...env, [KEYS]: readFileSync(file, 'utf8').trim() }
  } catch {
    return env // the missing setting is then reported, with all other faults
  }
}

/** Throws with all faults at once; without a master key there is no service. */
export const loadVaultConfig = <T>(schema: z.ZodType<T>, env: Environment): Readonly<T> =>
  loadConfig(schema, withKeyFile(env))
