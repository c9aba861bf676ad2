import { randomInt, randomUUID } from 'node:crypto'
import { newApiTokenId, newEndpointId, newWebhookId, type Operation } from '@guildhall/contracts'

/**
 * For each kind of id that an operation may be given: one that belongs to somebody else, and one
 * that belongs to nobody. Who may not see the first must not be able to tell it from the second.
 */

type IdKind = 'todo' | 'webhook' | 'event' | 'endpoint' | 'api_token' | 'agent'

export type Ids = Readonly<Record<IdKind, string | number>>

export const nobodysIds = (): Ids => ({
  todo: `td_${randomUUID()}`,
  webhook: newWebhookId(Date.now()),
  event: randomInt(1_000_000, 2_000_000),
  endpoint: newEndpointId(Date.now()),
  api_token: newApiTokenId(Date.now()),
  agent: randomInt(1_000_000, 2_000_000),
})

const FIELDS: Readonly<Record<string, IdKind>> = {
  webhook_id: 'webhook',
  endpoint_id: 'endpoint',
  token_id: 'api_token',
}

/** What else an operation wants before it looks at the id. */
const OTHER_FIELDS: Readonly<Record<string, unknown>> = {
  lease_token: 'AAAAAAAAAAAAAAAAAAAAAA',
  signing_secret: 'a-secret-of-the-provider',
  queues: ['inbox'],
  summary: 'not mine',
}

const fieldsOf = ({ input }: Operation): readonly string[] =>
  'shape' in input ? Object.keys(input.shape as object) : [] // zod's objects carry their fields here

/** The field of an operation that names an object, and what kind of object. */
export const idField = (op: Operation): { field: string; kind: IdKind } | undefined => {
  const field = fieldsOf(op).find((name) => name === 'id' || name in FIELDS || name === 'agent')
  if (field === undefined) return undefined
  if (field === 'agent') return { field, kind: 'agent' }
  if (field !== 'id') return { field, kind: FIELDS[field] ?? 'todo' }
  return { field, kind: op.family === 'events' ? 'event' : 'todo' }
}

/** Arguments that name this object and are right otherwise. */
export const argumentsFor = (op: Operation, ids: Ids): Record<string, unknown> => {
  const named = idField(op)
  if (named === undefined) throw new Error(`${op.name} names no object`)
  const id = ids[named.kind]
  const others = fieldsOf(op).flatMap((field) =>
    field in OTHER_FIELDS ? [[field, OTHER_FIELDS[field]]] : [],
  )
  return {
    ...Object.fromEntries(others),
    [named.field]: named.kind === 'agent' ? { agent_id: id } : id,
  }
}
