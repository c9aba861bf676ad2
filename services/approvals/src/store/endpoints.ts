import { Endpoint, ServiceError } from '@guildhall/contracts'
import { type Bindings, type Connection, firstRow, rowsOf } from '@guildhall/db'
import {
  type EndpointSettings,
  type SettingChanges,
  unusableCeiling,
  WEBHOOK_GRANT,
} from '../endpoint-settings.ts'
import { WEBHOOKS_PER_ENDPOINT_DEFAULT } from '../limits.ts'

/** Rows are Endpoints as the contract has them; only the agent's name is joined in. */
const FIELDS = Object.keys(Endpoint.shape)
  .map((field) => (field === 'agent_name' ? 'agents.name as agent_name' : `endpoints.${field}`))
  .join(', ')

/** The endpoint that a writing statement left behind. */
const written = (statement: string): string =>
  `with endpoints as (${statement} returning *)
   select ${FIELDS} from endpoints join agents using (user_id, agent_id)`

export interface EndpointKey {
  readonly user_id: number
  readonly endpoint_id: string
}

const settingBindings = ({ rate_limit, ...settings }: SettingChanges): Bindings => ({
  ...settings,
  ...(rate_limit === undefined ? {} : { rate_limit: JSON.stringify(rate_limit) }),
})

const isCeilingViolation = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'endpoints_ceiling_check'

const refuseUnusable = (error: unknown): never => {
  throw isCeilingViolation(error) ? unusableCeiling(error) : error
}

interface NewEndpoint extends EndpointSettings {
  readonly endpoint_id: string
  readonly user_id: number
  readonly agent_id: number
  readonly credential_prefix: string
  readonly created_at: Date
}

export const insertEndpoint = async (
  db: Connection,
  { endpoint_id, user_id, agent_id, credential_prefix, created_at, ...settings }: NewEndpoint,
): Promise<Endpoint> => {
  const values: Bindings = {
    endpoint_id,
    user_id,
    agent_id,
    credential_prefix,
    created_at,
    status: 'active' satisfies Endpoint['status'],
    version: 1,
    ...settingBindings(settings),
  }
  const columns = Object.keys(values)
  const inserted = await firstRow<Endpoint>(
    db,
    written(
      `insert into endpoints (${columns.join(', ')})
       values (${columns.map((column) => `:${column}`).join(', ')})`,
    ),
    values,
  ).catch(refuseUnusable)
  if (inserted === undefined) throw new ServiceError('internal', 'an insert returned no row')
  return inserted
}

export type EndpointChanges = SettingChanges & { readonly credential_prefix?: string }

/** Undefined when there is no such endpoint, or it is revoked. */
export const updateEndpoint = (
  db: Connection,
  key: EndpointKey,
  changes: EndpointChanges,
): Promise<Endpoint | undefined> => {
  const { credential_prefix, ...settings } = changes
  const values: Bindings = {
    ...settingBindings(settings),
    ...(credential_prefix === undefined ? {} : { credential_prefix }),
  }
  const assignments = Object.keys(values).map((column) => `${column} = :${column}`)
  // A newly granted create_webhook must be usable: an untouched ceiling of zero is raised with it.
  // On the right-hand side stands the row as it was.
  if (changes.tools?.includes(WEBHOOK_GRANT) === true && changes.webhook_max === undefined) {
    assignments.push(
      `webhook_max = case when :grant = any(tools) or webhook_max > 0 then webhook_max
         else :default_max end`,
    )
  }
  return firstRow<Endpoint>(
    db,
    written(
      `update endpoints set ${[...assignments, 'version = version + 1'].join(', ')}
       where user_id = :user_id and endpoint_id = :endpoint_id and status = 'active'`,
    ),
    { ...values, ...key, grant: WEBHOOK_GRANT, default_max: WEBHOOKS_PER_ENDPOINT_DEFAULT },
  ).catch(refuseUnusable)
}

/** Undefined when there is no such endpoint, or it is revoked already. */
export const revokeActiveEndpoint = (
  db: Connection,
  key: EndpointKey,
  now: Date,
): Promise<Endpoint | undefined> =>
  firstRow(
    db,
    written(
      `update endpoints set status = 'revoked', revoked_at = :now, version = version + 1
       where user_id = :user_id and endpoint_id = :endpoint_id and status = 'active'`,
    ),
    { ...key, now },
  )

export const findEndpoint = (db: Connection, key: EndpointKey): Promise<Endpoint | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from endpoints join agents using (user_id, agent_id)
     where endpoints.user_id = :user_id and endpoint_id = :endpoint_id`,
    { ...key },
  )

/** All of an agent's that work now; the ceiling per owner bounds them. */
export const activeEndpointsOf = (
  db: Connection,
  { user_id, agent_id }: { readonly user_id: number; readonly agent_id: number },
): Promise<Pick<Endpoint, 'endpoint_id'>[]> =>
  rowsOf(
    db,
    `select endpoint_id from endpoints
     where user_id = :user_id and agent_id = cast(:agent_id as bigint) and status = 'active'
     order by endpoint_id`,
    { user_id, agent_id },
  )

export const countActiveEndpoints = async (db: Connection, user_id: number): Promise<number> => {
  const row = await firstRow<{ active: number }>(
    db,
    `select count(*) as active from endpoints where user_id = :user_id and status = 'active'`,
    { user_id },
  )
  return row?.active ?? 0
}

/** Newest first, beginning after `before` when it is given. */
export const listEndpointsBefore = (
  db: Connection,
  {
    user_id,
    before,
    limit,
  }: { readonly user_id: number; readonly before: string | null; readonly limit: number },
): Promise<Endpoint[]> =>
  rowsOf(
    db,
    `select ${FIELDS} from endpoints join agents using (user_id, agent_id)
     where endpoints.user_id = :user_id
       ${before === null ? '' : 'and endpoint_id < :before'}
     order by endpoint_id desc limit :limit`,
    { user_id, before, limit },
  )

/** A page over all users, for the reconciler alone. */
export const endpointsAfter = (
  db: Connection,
  endpoint_id: string,
  limit: number,
): Promise<Endpoint[]> =>
  rowsOf(
    db,
    `select ${FIELDS} from endpoints join agents using (user_id, agent_id)
     where endpoint_id > :endpoint_id order by endpoint_id limit :limit`,
    { endpoint_id, limit },
  )
