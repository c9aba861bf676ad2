import type { CallContext, CallServices } from '../calls/call-context.ts'
import type { CallerView, EndpointView } from '../identity/endpoint-view.ts'
import type { Identity } from '../identity/identity.ts'
import type { Members } from '../protocol/result.ts'

export type { Arguments } from '../calls/call-context.ts'

export interface ToolServices extends CallServices {
  readonly identity: Identity
}

export interface ToolContext extends CallContext {
  readonly view: CallerView
  /** Absent when a person calls. */
  readonly endpoint?: EndpointView
}

export interface ToolAnswer {
  readonly members: Members
  /** Undoes what the answer granted. To be called when the answer could not be delivered. */
  readonly undo?: () => Promise<void>
}
