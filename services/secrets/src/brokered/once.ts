import {
  type callWithSecret,
  type InputOf,
  type OutputOf,
  type Principal,
  ServiceError,
  sha256Hex,
} from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { CALL_KEPT_MS } from '../limits.ts'
import { type CallKey, dropCall, findCall, finishCall, startCall } from '../store/calls.ts'

/**
 * A call with an idempotency key goes out once. That it is about to is written down first; so when
 * the process dies in between, a repeat finds that, and is told that nobody knows, rather than
 * charging a card a second time.
 */

type Input = InputOf<typeof callWithSecret>
type Answer = OutputOf<typeof callWithSecret>

const callerName = (principal: Principal): string =>
  principal.kind === 'agent' ? `agent:${principal.agent_id}` : 'human'

const inputHash = ({ idempotency_key: _key, headers = {}, ...input }: Input): string => {
  const sorted = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1))
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1))
  return sha256Hex(JSON.stringify([fields, sorted]))
}

const earlier = async (
  { db }: Pick<Deps, 'db'>,
  key: CallKey,
  input_hash: string,
): Promise<Answer> => {
  const known = await findCall(db, key)
  if (known !== undefined && known.input_hash !== input_hash) {
    throw new ServiceError('idempotency_conflict', 'this key was used for another call')
  }
  if (known === undefined || known.answer === null) {
    throw new ServiceError('deadline_exceeded', 'a call with this key was begun before', {
      what_to_do:
        'Its outcome is unknown, and it is not sent again: check at the host, then use a new key.',
    })
  }
  return JSON.parse(known.answer) as Answer // written below, from an Answer
}

export interface Outcome {
  sent: boolean
}

export const callOnce = async (
  deps: Deps,
  principal: Principal,
  idempotency_key: string | undefined,
  input: Input,
  outcome: Outcome,
  send: () => Promise<Answer>,
): Promise<Answer> => {
  if (idempotency_key === undefined) return await send()
  const { db, clock, log } = deps
  const key_hash = sha256Hex(idempotency_key)
  const key: CallKey = { user_id: principal.user_id, caller: callerName(principal), key_hash }
  const input_hash = inputHash(input)
  const now = clock.now()
  const isFirst = await startCall(db, key, {
    input_hash,
    now: new Date(now),
    forgotten_before: new Date(now - CALL_KEPT_MS),
  })
  if (!isFirst) return await earlier(deps, key, input_hash)
  try {
    const answer = await send()
    // The caller gets its answer in any case; only a repeat would not.
    await finishCall(db, key, JSON.stringify(answer)).catch((err: unknown) =>
      log.warn({ err }, 'the answer of a call could not be kept'),
    )
    return answer
  } catch (error) {
    if (!outcome.sent) {
      await dropCall(db, key).catch((err: unknown) =>
        log.warn({ err }, 'the key of a call that never left stays taken'),
      )
    }
    throw error
  }
}
