import { ServiceError, sha256Hex } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Sealer } from '../sealing.ts'

/**
 * A repeat of a call with the same key gets the first answer, for a day. The answer may hold a
 * secret that is shown once, so it is sealed, together with the arguments that it answers.
 */

export const ANSWERS_KEPT_MS = 86_400_000

export interface KeyedCall {
  readonly owner_id: number
  readonly caller: string
  readonly operation: string
  /** Undefined: the caller gave none, and every call is a new one. */
  readonly key: string | undefined
  readonly input: Readonly<Record<string, unknown>>
}

/** The arguments in one spelling, without the key itself. */
const spell = (input: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(
    Object.entries(input)
      .filter(([name, value]) => name !== 'idempotency_key' && value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** Runs `work` for the first call of a key; its row and the effect are one transaction. */
export const answerOnce = async <T>(
  trx: Trx,
  sealer: Sealer,
  { owner_id, caller, operation, key, input }: KeyedCall,
  now_ms: number,
  work: () => Promise<T>,
): Promise<T> => {
  if (key === undefined) return await work()
  const row = { owner_id, caller, operation, key_hash: sha256Hex(key) }
  const context = { id: JSON.stringify(Object.values(row)), purpose: 'answer' } as const
  // A concurrent call with the key waits here until the first one has committed or failed.
  const claimed = await trx('answers')
    .insert({ ...row, created_at: new Date(now_ms).toISOString() })
    .onConflict(['owner_id', 'caller', 'operation', 'key_hash'])
    .ignore()
    .returning('owner_id')
  if (claimed.length === 0) {
    const stored = await trx('answers').where(row).first('key_id', 'data')
    const { asked, answer } = JSON.parse(sealer.open(stored, context))
    if (asked === spell(input)) return answer
    throw new ServiceError('idempotency_conflict', 'this key was used with other arguments')
  }
  const answer = await work()
  const sealed = sealer.seal(JSON.stringify({ asked: spell(input), answer }), context)
  await trx('answers').where(row).update(sealed)
  return answer
}

export const forgetAnswers = async (trx: Trx, before_ms: number): Promise<void> => {
  await trx.raw('delete from answers where created_at < ?', [new Date(before_ms).toISOString()])
}
