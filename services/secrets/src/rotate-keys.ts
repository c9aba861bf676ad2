import type { Db } from '@guildhall/db'
import type { Logger } from '@guildhall/runtime'
import type { Vault } from './envelope.ts'
import { REWRAP_PAGE } from './limits.ts'
import { replaceWrapping, wrappedOtherwise } from './store/rotation.ts'

/**
 * Wraps every data key anew under the newest master key, while the service runs. Each row is one
 * compare-and-set, so a row that changes meanwhile is left as it is, a second run at the same time
 * does no harm, and a run that was broken off is simply begun again: what is done is not seen.
 */

interface Rotated {
  readonly seen: number
  readonly rewrapped: number
  /** Changed by somebody else between reading and writing. */
  readonly passed: number
  /** Did not open: their master key is not in the ring, or the row was tampered with. */
  readonly failed: number
}

export const rotateKeys = async (db: Db, vault: Vault, log: Logger): Promise<Rotated> => {
  const counts = { seen: 0, rewrapped: 0, passed: 0, failed: 0 }
  for (let after = 0; ; ) {
    const page = await wrappedOtherwise(db, vault.newest_key_id, after, REWRAP_PAGE)
    for (const row of page) {
      counts.seen += 1
      try {
        const next = vault.rewrap(row, row)
        if (await replaceWrapping(db, row, next)) counts.rewrapped += 1
        else counts.passed += 1
      } catch (err) {
        counts.failed += 1
        log.error({ err, secret_id: row.secret_id }, 'a data key could not be wrapped anew')
      }
    }
    const last = page.at(-1)
    if (last === undefined) return counts
    after = last.secret_id
  }
}
