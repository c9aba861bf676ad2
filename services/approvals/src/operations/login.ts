import type { AnonymousContext } from '@guildhall/bus'
import { type InputOf, type login, ServiceError, sha256Hex, type User } from '@guildhall/contracts'
import type { Connection } from '@guildhall/db'
import { transaction } from '@guildhall/db'
import type { Deps } from '../deps.ts'
import { LOGIN_LINK_REPEAT_MS } from '../limits.ts'
import { addAudit } from '../store/audit-log.ts'
import { redeemLoginLink } from '../store/login-links.ts'
import { findUserWithPassword } from '../store/users.ts'
import { isStorable, storable } from '../text.ts'
import { addressBucket, admitAttempt, giveBackAttempt, userBucket } from '../throttle.ts'

type Input = InputOf<typeof login>
type NameAndPassword = Extract<Input['proof'], { username: string }>

/** One answer for everything that can be wrong: it tells nothing about which names exist. */
const refused = (): ServiceError =>
  new ServiceError('unauthenticated', 'this login is not valid', {
    what_to_do: 'Check name and password, or ask for a new login link: each works once.',
  })

const redeem = (
  db: Connection,
  { clock }: Deps,
  { idempotency_key }: AnonymousContext,
  login_token: string,
): Promise<User | undefined> =>
  redeemLoginLink(db, {
    token_sha256: sha256Hex(login_token),
    now: new Date(clock.now()),
    key_hash: idempotency_key === undefined ? null : sha256Hex(idempotency_key),
    repeat_since: new Date(clock.now() - LOGIN_LINK_REPEAT_MS),
  })

const checkPassword = async (
  { db, passwords }: Deps,
  { username, password }: NameAndPassword,
): Promise<User | undefined> => {
  const found = isStorable(username) ? await findUserWithPassword(db, { username }) : undefined
  // Also for nobody: how long the answer takes must not tell who exists.
  const right = await passwords.verify(password, found?.password_hash)
  if (!right || found === undefined) return undefined
  const { password_hash: _, ...user } = found
  return user
}

const record = (
  db: Connection,
  { clock }: Deps,
  { request_id }: AnonymousContext,
  user: User | undefined,
  details: Readonly<Record<string, string>>,
): Promise<void> =>
  addAudit(db, {
    at: new Date(clock.now()),
    user_id: user?.user_id ?? null,
    actor: user === undefined ? 'anonymous' : `human:${user.user_id}`,
    action: user === undefined ? 'login.denied' : 'login.succeeded',
    object: user === undefined ? 'unknown' : `user:${user.user_id}`,
    details,
    request_id,
  })

/**
 * The attempt is counted before the proof is looked at, and given back when it was right. Counting
 * failures afterwards would let any number of guesses through side by side.
 */
export const handleLogin =
  (deps: Deps) =>
  async (ctx: AnonymousContext, { proof, client_address }: Input): Promise<User> => {
    const address = addressBucket(client_address)
    const buckets = 'username' in proof ? [userBucket(proof.username), address] : [address]
    await admitAttempt(deps, buckets)
    // Outside the transaction: no connection is held while a password is being checked.
    const named = 'username' in proof ? await checkPassword(deps, proof) : undefined
    const user = await transaction(deps.db, async (trx) => {
      const found = 'login_token' in proof ? await redeem(trx, deps, ctx, proof.login_token) : named
      const method = 'login_token' in proof ? 'link' : 'password'
      const from = storable(client_address)
      await record(trx, deps, ctx, found, { method, client_address: from })
      return found
    })
    if (user === undefined) throw refused()
    await giveBackAttempt(deps, buckets)
    return user
  }
