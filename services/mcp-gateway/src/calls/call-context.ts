import type { Caller } from '@guildhall/bus'
import type { Principal } from '@guildhall/contracts'
import type { Logger } from '@guildhall/runtime'

/** What calls to services need that lives as long as the process. */
export interface CallServices {
  readonly caller: Caller
  readonly log: Logger
  /** True once this replica is on its way out: a wait then ends early. */
  readonly draining: () => boolean
}

/** One call, whichever protocol it came by. */
export interface CallContext {
  readonly principal: Principal
  readonly request_id: string
  readonly traceparent: string | undefined
  /** True when nobody is left to read the answer. */
  readonly gone: () => boolean
  /** Whether what authenticated the call still holds; asked again during a long wait. */
  readonly live: () => boolean
}

export type Arguments = Readonly<Record<string, unknown>>
