import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { bounded } from './bounded.ts'
import { PASSWORD_HASHES_AT_ONCE, PASSWORD_HASHES_WAITING_MAX } from './limits.ts'

/**
 * scrypt with 32 MiB per hash, one of the parameter sets that OWASP lists as equal in strength. They
 * stand in each hash, so that they can be raised later without a flag day. The work runs on the
 * thread pool and is bounded: a flood of logins must not starve everything else of memory.
 */
interface Cost {
  readonly N: number
  readonly r: number
  readonly p: number
}

const COST: Cost = { N: 2 ** 15, r: 8, p: 3 }
const HASH_BYTES = 32
const SALT_BYTES = 16
const MEMORY_MAX_BYTES = 64 * 1024 * 1024

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

interface StoredHash {
  readonly cost: Cost
  readonly salt: Buffer
  readonly hash: Buffer
}

const STORED =
  /^scrypt\$N=(\d{1,8}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+=*)\$([A-Za-z0-9+/]+=*)$/

const parse = (stored: string): StoredHash => {
  const [, N = '', r = '', p = '', salt = '', hash = ''] = STORED.exec(stored) ?? []
  if (hash === '') throw new Error('a stored password hash has an unknown form')
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

/** The same letters typed on different systems are different code points; NFKC makes them one. */
const compute = (password: string, salt: Buffer, length: number, cost: Cost) =>
  derive(password.normalize('NFKC'), salt, length, { ...cost, maxmem: MEMORY_MAX_BYTES })

export interface Passwords {
  hash(password: string): Promise<string>
  /** Takes as long for a user who is unknown or has no password as for a wrong password. */
  verify(password: string, stored: string | null | undefined): Promise<boolean>
}

/** `own_cost` is for new hashes; a stored one is checked with its own. */
export const createPasswords = (own_cost: Cost = COST): Passwords => {
  const inTurn = bounded({
    at_once: PASSWORD_HASHES_AT_ONCE,
    waiting_max: PASSWORD_HASHES_WAITING_MAX,
    refusal: 'too many passwords are being checked right now',
  })
  const nobody: StoredHash = {
    cost: own_cost,
    salt: randomBytes(SALT_BYTES),
    hash: randomBytes(HASH_BYTES),
  }
  return {
    hash: async (password) => {
      const salt = randomBytes(SALT_BYTES)
      const hash = await inTurn(() => compute(password, salt, HASH_BYTES, own_cost))
      const { N, r, p } = own_cost
      return `scrypt$N=${N},r=${r},p=${p}$${salt.toString('base64')}$${hash.toString('base64')}`
    },
    verify: async (password, stored) => {
      const { cost, salt, hash } = typeof stored === 'string' ? parse(stored) : nobody
      const computed = await inTurn(() => compute(password, salt, hash.length, cost))
      return timingSafeEqual(computed, hash)
    },
  }
}
