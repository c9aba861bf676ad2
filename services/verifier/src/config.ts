import { serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'
import { COMMANDS_AT_ONCE_DEFAULT, COMMANDS_AT_ONCE_MAX } from './limits.ts'

const SystemId = z.coerce.number().int().min(1).max(4_294_967_294)

export const VerifierConfig = z.object({
  ...serviceConfigShape,
  /** Where commands run, each below `<user_id>/<goal_id>`; made when it is missing. */
  VERIFIER_ROOT: z.string().min(1).default('var/verifier'),
  COMMANDS_AT_ONCE: z.coerce
    .number()
    .int()
    .min(1)
    .max(COMMANDS_AT_ONCE_MAX)
    .default(COMMANDS_AT_ONCE_DEFAULT),
  /**
   * Whom commands run as, when this process may choose: somebody else than itself, who cannot read
   * what it has in memory or in its environment. As root it is `nobody` if nothing is set.
   */
  COMMAND_UID: SystemId.optional(),
  COMMAND_GID: SystemId.optional(),
  /** Where commands are looked for. */
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
})
export type VerifierConfig = z.infer<typeof VerifierConfig>
