import type { Caller } from '@guildhall/bus'
import type { RateLimit } from '@guildhall/contracts'
import type { Logger, Network, RateLimiter } from '@guildhall/runtime'
import type { Doorbell } from '../doorbell/doorbell.ts'
import type { Identity } from '../identity/identity.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ToolServices } from '../tools/tool-context.ts'
import type { Perimeter } from './origin-host.ts'

/** What the HTTP side is given. */
export interface HttpServices {
  readonly perimeter: Perimeter
  readonly trusted_proxies: readonly Network[]
  readonly address_limit: RateLimit
  readonly limiter: RateLimiter
  readonly secure_cookies: boolean
  readonly tools: ToolServices
  readonly identity: Identity
  readonly doorbell: Doorbell
  readonly sessions: Sessions
  readonly caller: Caller
  readonly log: Logger
  /** Names of the dependencies and whether each can be used now. */
  readonly ready: () => Record<string, boolean>
}
