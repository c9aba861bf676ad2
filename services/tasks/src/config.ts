import { serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'

const KEY_BYTES = 32

export const TasksConfig = z.object({
  ...serviceConfigShape,
  DATABASE_URL: z.string().min(1),
  /** Shared by all replicas; with it a repeated claim gets the same lease token. */
  LEASE_TOKEN_KEY: z
    .string()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((key) => key.length === KEY_BYTES, `must be ${KEY_BYTES} bytes in base64`),
})
export type TasksConfig = z.infer<typeof TasksConfig>
