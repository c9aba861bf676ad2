import { ServiceError, sha256Hex } from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { announceChange, publishChanges } from './announce.ts'
import type { Deps } from './deps.ts'
import { SECRETS_PER_SCOPE_MAX } from './limits.ts'
import { checkValue } from './secret-text.ts'
import { closeServed } from './store/resource-requests.ts'
import {
  countActive,
  findBySetKey,
  insertSecret,
  latestAt,
  lockScope,
  type Place,
  retireAt,
  type SecretRow,
} from './store/secrets.ts'

/** A new version of a secret, in place of the active one. Setting and rotating differ in little. */

interface NewVersion {
  readonly change: 'set' | 'rotated'
  readonly value: string
  /** Absent: those of the version before. */
  readonly hosts: readonly string[] | undefined
  readonly idempotency_key: string | undefined
}

export const noSuchSecret = (): ServiceError => new ServiceError('not_found', 'no such secret')

export const keyHash = (idempotency_key: string | undefined): string | null =>
  idempotency_key === undefined ? null : sha256Hex(idempotency_key)

const sameHosts = (made: SecretRow, hosts: readonly string[] | undefined): boolean =>
  hosts === undefined || JSON.stringify(made.hosts) === JSON.stringify(hosts)

/**
 * A repeat whose first try was lost changes nothing, also when the secret has changed since. The
 * value is not compared: whatever could be compared with it would say something about it.
 */
const repeated = async (
  trx: Trx,
  place: Place,
  hosts: readonly string[] | undefined,
  key_hash: string | null,
): Promise<SecretRow | undefined> => {
  const made = key_hash === null ? undefined : await findBySetKey(trx, place.user_id, key_hash)
  if (made === undefined) return undefined
  const { scope_type, scope_id, name } = place
  const same = made.scope_type === scope_type && made.scope_id === scope_id && made.name === name
  if (same && sameHosts(made, hosts)) return made
  throw new ServiceError('idempotency_conflict', 'this key was used for another secret or hosts')
}

const checkRoom = async (trx: Trx, place: Place): Promise<void> => {
  if ((await countActive(trx, place)) < SECRETS_PER_SCOPE_MAX) return
  throw new ServiceError(
    'ceiling_exceeded',
    `${SECRETS_PER_SCOPE_MAX} secrets are the most that one scope may have`,
    { what_to_do: 'Revoke a secret of this scope first.' },
  )
}

const storedAnswer = ({ scope_type, scope_id, name, version, hosts, created_at }: SecretRow) => ({
  scope_type,
  scope_id,
  name,
  version,
  hosts: [...hosts],
  created_at,
})

export const storeVersion = async (
  deps: Deps,
  place: Place,
  { change, value, hosts, idempotency_key }: NewVersion,
) => {
  checkValue(value)
  const key_hash = keyHash(idempotency_key)
  const now = new Date(deps.clock.now())
  const distinct = hosts === undefined ? undefined : [...new Set(hosts)]
  const row = await transaction(deps.db, async (trx) => {
    await lockScope(trx, place)
    const made = await repeated(trx, place, distinct, key_hash)
    if (made !== undefined) return made
    const last = await latestAt(trx, place)
    const active = last !== undefined && last.revoked_at === null
    if (change === 'rotated' && !active) throw noSuchSecret()
    if (!active) await checkRoom(trx, place)
    await retireAt(trx, place, { now, key_hash: null })
    const context = { ...place, version: (last?.version ?? 0) + 1 }
    const stored = await insertSecret(trx, context, deps.vault.seal(value, context), {
      hosts: distinct ?? last?.hosts ?? [],
      now,
      key_hash,
    })
    await closeServed(trx, place, now)
    await announceChange(trx, { ...place, change, at: now.getTime() })
    return stored
  })
  await publishChanges(deps)
  return storedAnswer(row)
}
