import { randomBytes } from 'node:crypto'
import type { Trx } from '@guildhall/db'
import { type Db, transaction } from '@guildhall/db'
import { newRequestId } from '@guildhall/runtime'
import { addCoordinatorIn } from './agents.ts'
import { createApiTokenIn } from './api-tokens.ts'
import { audit, type Call } from './call.ts'
import { LOGIN_LINK_TTL_MS } from './limits.ts'
import { insertLoginLink } from './store/login-links.ts'
import { findUserWithPassword, insertUser } from './store/users.ts'
import { createTokenMint, newLoginToken } from './tokens.ts'
import { vendEndpointIn } from './vend.ts'

/**
 * How a new installation gets its first person, who is then able to do everything else. There is no
 * sign-up and no default password: only who can run a command beside the database gets in, by a link
 * that works once and for a quarter of an hour.
 */

export const OWNER_USERNAME = 'owner'
const AGENT_NAME = 'first-agent'
const QUEUES = ['inbox', 'reviews']

interface Who {
  readonly user_id: number
  readonly username: string
}

export interface LoginLink extends Who {
  readonly login_token: string
}

export interface FirstOwner extends LoginLink {
  readonly api_token: string
  readonly agent: {
    readonly agent_id: number
    readonly endpoint_id: string
    readonly token: string
  }
}

const callFor = (user_id: number, now: Date): Call => ({
  user_id,
  actor: 'bootstrap',
  request_id: newRequestId(),
  now,
  keyed: undefined,
})

const mintLoginLink = async (trx: Trx, call: Call, who: Who): Promise<LoginLink> => {
  const { token, sha256 } = newLoginToken()
  await insertLoginLink(trx, {
    token_sha256: sha256,
    user_id: who.user_id,
    created_at: call.now,
    expires_at: new Date(call.now.getTime() + LOGIN_LINK_TTL_MS),
  })
  await audit(trx, call, 'login_link.minted', `user:${who.user_id}`)
  return { user_id: who.user_id, username: who.username, login_token: token }
}

/** A fresh login link, or undefined when there is no such user. */
export const newLoginLink = (db: Db, username: string, now: Date): Promise<LoginLink | undefined> =>
  transaction(db, async (trx) => {
    const user = await findUserWithPassword(trx, { username })
    return user && (await mintLoginLink(trx, callFor(user.user_id, now), user))
  })

/** A person with what everybody has from the beginning; undefined when the name is taken. */
const addPersonIn = async (
  trx: Trx,
  username: string,
  now: Date,
): Promise<(Who & { readonly call: Call }) | undefined> => {
  const user = await insertUser(trx, { username, created_at: now })
  if (user === undefined) return undefined
  const call = callFor(user.user_id, now)
  await audit(trx, call, 'user.created', `user:${user.user_id}`)
  await addCoordinatorIn(trx, call)
  return { user_id: user.user_id, username, call }
}

/** A further person, with nothing but a way in; undefined when the name is taken. */
export const createUser = (db: Db, username: string, now: Date): Promise<LoginLink | undefined> =>
  transaction(db, async (trx) => {
    const user = await addPersonIn(trx, username, now)
    return user && (await mintLoginLink(trx, user.call, user))
  })

/** All of it or nothing; undefined when there is an owner already. */
export const createFirstOwner = (db: Db, now: Date): Promise<FirstOwner | undefined> =>
  transaction(db, async (trx) => {
    const owner = await addPersonIn(trx, OWNER_USERNAME, now)
    if (owner === undefined) return undefined
    const { call } = owner
    const link = await mintLoginLink(trx, call, owner)
    // These calls carry no idempotency key, so every token is random and the key is of no use.
    const mint = { tokens: createTokenMint(randomBytes(32)) }
    const { token: api_token } = await createApiTokenIn(trx, mint, call, {
      name: 'first token',
      expires_at: null,
    })
    const { endpoint, token } = await vendEndpointIn(
      trx,
      mint,
      call,
      { name: AGENT_NAME },
      {
        queues: QUEUES,
      },
    )
    const { agent_id, endpoint_id } = endpoint
    return { ...link, api_token, agent: { agent_id, endpoint_id, token } }
  })
