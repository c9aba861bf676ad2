import { z } from 'zod'

/** Where deliveries may come from. All but `generic` are signed by the provider. */
export const SourceType = z.enum([
  'github',
  'gitea',
  'gitlab',
  'stripe',
  'slack',
  'linear',
  'standard',
  'generic',
])
export type SourceType = z.infer<typeof SourceType>

/** `signed`: the provider proves the body. `token`: whoever knows the URL may post. */
export const TrustMode = z.enum(['signed', 'token'])
export type TrustMode = z.infer<typeof TrustMode>
