import type { Part } from '@guildhall/runtime'
import type { Deps } from './deps.ts'
import { keysInUse } from './store/rotation.ts'

/**
 * Says at the start which secrets cannot be opened because their master key is not in the ring.
 * The others go on being served: one key that was taken out too early must not stop them all.
 */
export const checkKeys = ({ db, vault, log }: Pick<Deps, 'db' | 'vault' | 'log'>): Part => ({
  name: 'check-keys',
  start: async () => {
    for (const { master_key_id, secrets } of await keysInUse(db)) {
      if (vault.has(master_key_id)) continue
      log.error({ master_key_id, secrets }, 'a master key that secrets need is not in the ring')
    }
  },
  stop: async () => undefined,
})
