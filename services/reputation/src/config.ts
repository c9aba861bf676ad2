import { serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'

/** What each entry point of this service reads from the environment. */
export const ReputationConfig = z.object({
  ...serviceConfigShape,
  DATABASE_URL: z.string().min(1),
})
