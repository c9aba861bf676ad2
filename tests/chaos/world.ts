import type { System } from '@guildhall/testing'
import type { History } from './history.ts'
import type { Http } from './http.ts'
import type { Mcp } from './mcp.ts'

/** chaos: faults happen, and actors misbehave. drain: only what is left is worked off. */
type Phase = 'chaos' | 'drain' | 'over'

/** What all actors share. */
export interface World {
  readonly system: System
  readonly history: History
  readonly http: Http
  readonly mcp: Mcp
  readonly webhook: Webhook
  phase: Phase
  /** While true, a worker may report a failure that is retried only after the back-off. */
  may_fail: boolean
  /** Todos made lately, for workers that want one in particular. */
  readonly recent: string[]
}

export interface Webhook {
  /** Below each replica of ingest. */
  readonly path: string
  readonly secret: string
}

const RECENT_MAX = 6

export const remember = ({ recent }: World, id: string): void => {
  recent.push(id)
  if (recent.length > RECENT_MAX) recent.shift()
}

export const idIn = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
    ? value.id
    : undefined
