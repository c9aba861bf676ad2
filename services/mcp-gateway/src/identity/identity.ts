import { type Bus, mirrorKv } from '@guildhall/bus'
import {
  buckets,
  credentialKey,
  endpointKey,
  IdentityCredential,
  IdentityEndpoint,
  type UserId,
} from '@guildhall/contracts'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { z } from 'zod'
import { type EndpointView, isLive, viewOf } from './endpoint-view.ts'

/**
 * Who a bearer token is, answered from memory. The bucket is written by approvals and mirrored
 * whole, so a call costs a hash and two map look-ups; a revocation is a message that arrives, not
 * something that a cache has to expire. Only hashes of tokens are ever kept, so no further cache
 * stands in front of the map: it could only hold the same hashes again.
 */

export type Identified =
  | { readonly kind: 'agent'; readonly view: EndpointView; readonly credential: string }
  | {
      readonly kind: 'human'
      readonly user_id: UserId
      /** Asked again during a long wait. */
      readonly live: () => boolean
    }

export type IdentityChange =
  | {
      readonly kind: 'endpoint'
      readonly endpoint_id: string
      readonly before: EndpointView | undefined
      readonly after: EndpointView | undefined
    }
  | { readonly kind: 'credential'; readonly key: string }

export interface Identity extends Part {
  ready(): boolean
  /** Undefined for a token that is missing, unknown, revoked or expired: nobody learns which. */
  identify(token: string | undefined): Identified | undefined
  /** Whether what authenticated a stream still holds. Returns the endpoint as it is now. */
  stillLive(credential: string): EndpointView | undefined
  endpoint(endpoint_id: string): EndpointView | undefined
  onChange(listener: (change: IdentityChange) => void): () => void
}

const IdentityRecord = z.union([IdentityEndpoint, IdentityCredential])
type IdentityRecord = z.infer<typeof IdentityRecord>

const TOKEN = /^[\x21-\x7e]{8,200}$/
const ENDPOINT_PREFIX = endpointKey('')

interface IdentityOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
}

export const createIdentity = ({ bus, clock, log }: IdentityOptions): Identity => {
  const views = new Map<string, EndpointView>()
  const listeners = new Set<(change: IdentityChange) => void>()

  const notify = (change: IdentityChange): void => {
    for (const listener of listeners) listener(change)
  }

  const applyEndpoint = (key: string, record: IdentityRecord | undefined): void => {
    const endpoint_id = key.slice(ENDPOINT_PREFIX.length)
    const before = views.get(endpoint_id)
    const after = record !== undefined && 'endpoint' in record ? viewOf(record.endpoint) : undefined
    if (after === undefined) views.delete(endpoint_id)
    else views.set(endpoint_id, after)
    notify({ kind: 'endpoint', endpoint_id, before, after })
  }

  const mirror = mirrorKv<IdentityRecord>(bus, buckets.identity, IdentityRecord, {
    log,
    onChange: (key, record) => {
      if (key.startsWith(ENDPOINT_PREFIX)) applyEndpoint(key, record)
      else notify({ kind: 'credential', key })
    },
  })

  const stillLive = (credential: string): EndpointView | undefined => {
    const record = mirror.get(credential)
    if (record === undefined || 'endpoint' in record || record.kind !== 'endpoint') return undefined
    const view = views.get(record.endpoint_id)
    return !record.revoked && view !== undefined && isLive(view, clock.now()) ? view : undefined
  }

  const liveHuman = (credential: string): UserId | undefined => {
    const record = mirror.get(credential)
    if (record === undefined || 'endpoint' in record || record.kind !== 'api_token')
      return undefined
    const expired = record.expires_at !== null && record.expires_at <= clock.now()
    return record.revoked || expired ? undefined : record.user_id
  }

  return {
    name: 'identity',
    start: mirror.start,
    stop: mirror.stop,
    ready: mirror.ready,
    stillLive,
    endpoint: (endpoint_id) => views.get(endpoint_id),
    identify: (token) => {
      if (token === undefined || !TOKEN.test(token)) return undefined
      const credential = credentialKey(token)
      const view = stillLive(credential)
      if (view !== undefined) return { kind: 'agent', view, credential }
      const user_id = liveHuman(credential)
      if (user_id === undefined) return undefined
      return { kind: 'human', user_id, live: () => liveHuman(credential) !== undefined }
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Resolves once the endpoint satisfies the condition, or when the time is over. */
export const untilEndpoint = (
  identity: Identity,
  endpoint_id: string,
  holds: (view: EndpointView) => boolean,
  timeout_ms: number,
): Promise<boolean> => {
  const now = identity.endpoint(endpoint_id)
  if (now !== undefined && holds(now)) return Promise.resolve(true)
  return new Promise((resolve) => {
    const finish = (reached: boolean): void => {
      clearTimeout(timer)
      unlisten()
      resolve(reached)
    }
    const unlisten = identity.onChange((change) => {
      if (change.kind !== 'endpoint' || change.endpoint_id !== endpoint_id) return
      if (change.after !== undefined && holds(change.after)) finish(true)
    })
    const timer = setTimeout(() => finish(false), timeout_ms)
  })
}
