import { serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'

const KEY_BYTES = 32

const DatabaseUrl = z.string().min(1)

/** What each entry point of this service reads from the environment. */
export const databaseSettings = z.object({ ...serviceConfigShape, DATABASE_URL: DatabaseUrl })

export const serviceSettings = databaseSettings.extend({
  /** Where agents connect; part of every answer that shows a credential. */
  PUBLIC_MCP_URL: z.url(),
  /** 32 bytes as base64. Changing it ends only the repeats of calls made before. */
  TOKEN_DERIVATION_KEY: z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((key) => key.length === KEY_BYTES, `must be ${KEY_BYTES} bytes, as base64`),
})

export const bootstrapSettings = databaseSettings.extend({
  /** The login page of the gateway; a login link is this with a token. */
  PUBLIC_LOGIN_URL: z.url(),
})
