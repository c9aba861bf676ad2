import type { VerifierConfig } from './config.ts'
import type { Identity } from './jail.ts'

/** The user that owns nothing, on every Linux. */
const NOBODY: Identity = { uid: 65_534, gid: 65_534 }

const ROOT_UID = 0

/** Undefined: commands run as we do, since nothing was set and we may not choose. */
export const identityFor = (
  { COMMAND_UID, COMMAND_GID }: Pick<VerifierConfig, 'COMMAND_UID' | 'COMMAND_GID'>,
  own_uid: number | undefined,
): Identity | undefined => {
  if (COMMAND_UID !== undefined) return { uid: COMMAND_UID, gid: COMMAND_GID ?? COMMAND_UID }
  return own_uid === ROOT_UID ? NOBODY : undefined
}
