import type { Deps } from '../deps.ts'

/**
 * Brings what was just committed out now rather than with the relay's next run: the sooner a
 * quarantine is known, the less work is still given to whom it is about. The event is done either
 * way, and the relay comes again.
 */
export const hurry = async ({ settle, log }: Pick<Deps, 'settle' | 'log'>): Promise<void> => {
  await settle().catch((err: unknown) => log.warn({ err }, 'announced later than usual'))
}
