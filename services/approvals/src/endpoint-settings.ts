import {
  createWebhook,
  defaultGrants,
  type Endpoint,
  grantableTools,
  grantOf,
  RATE_LIMIT_DEFAULT,
  ServiceError,
  SourceType,
} from '@guildhall/contracts'
import { WEBHOOKS_PER_ENDPOINT_DEFAULT } from './limits.ts'
import { checkName } from './text.ts'

/** Rules for the settings of an endpoint. No I/O. */

export type EndpointSettings = Pick<
  Endpoint,
  | 'name'
  | 'tools'
  | 'queues'
  | 'webhook_max'
  | 'webhook_source_types'
  | 'webhook_queues'
  | 'default_lease_ttl_seconds'
  | 'require_fence'
  | 'rate_limit'
  | 'allowed_cidrs'
  | 'expires_at'
>

/** What a caller sent: a setting may be absent, or there with no value. */
type SentSettings = {
  readonly [K in keyof EndpointSettings]?: EndpointSettings[K] | undefined
}

/** Only what shall change, checked. */
export type SettingChanges = Partial<EndpointSettings>

export const WEBHOOK_GRANT = grantOf(createWebhook)

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]

const checkTools = (tools: readonly string[]): string[] => {
  const unknown = tools.filter((tool) => !grantableTools.includes(tool))
  if (unknown.length === 0) return distinct(tools)
  throw new ServiceError(
    'invalid_argument',
    `tools: unknown tool ${unknown.map((tool) => JSON.stringify(tool)).join(', ')}; allowed are ${grantableTools.join(', ')}`,
    { details: { unknown, allowed: grantableTools } },
  )
}

export const checkExpiry = (expires_at: string | null, now_ms: number): string | null => {
  if (expires_at === null) return null
  const expires_ms = Date.parse(expires_at)
  if (expires_ms > now_ms) return new Date(expires_ms).toISOString()
  throw new ServiceError('invalid_argument', 'expires_at: must lie in the future')
}

/** Checks each setting that was sent, and drops the absent ones: omission never clears. */
export const checkSettings = (sent: SentSettings, now_ms: number): SettingChanges => {
  const { name, tools, queues, webhook_source_types, webhook_queues, allowed_cidrs } = sent
  return {
    ...(name === undefined ? {} : { name: checkName('name', name) }),
    ...(tools === undefined ? {} : { tools: checkTools(tools) }),
    ...(queues === undefined ? {} : { queues: distinct(queues) }),
    ...(sent.webhook_max === undefined ? {} : { webhook_max: sent.webhook_max }),
    ...(webhook_source_types === undefined
      ? {}
      : { webhook_source_types: distinct(webhook_source_types) }),
    ...(webhook_queues === undefined ? {} : { webhook_queues: distinct(webhook_queues) }),
    ...(sent.default_lease_ttl_seconds === undefined
      ? {}
      : { default_lease_ttl_seconds: sent.default_lease_ttl_seconds }),
    ...(sent.require_fence === undefined ? {} : { require_fence: sent.require_fence }),
    ...(sent.rate_limit === undefined ? {} : { rate_limit: sent.rate_limit }),
    ...(allowed_cidrs === undefined ? {} : { allowed_cidrs: distinct(allowed_cidrs) }),
    ...(sent.expires_at === undefined ? {} : { expires_at: checkExpiry(sent.expires_at, now_ms) }),
  }
}

/**
 * What an endpoint gets where its owner chose nothing. It must be usable end to end: whoever is
 * granted create_webhook also gets a ceiling under which a webhook can be made.
 */
export const completeSettings = (
  chosen: SettingChanges & Pick<EndpointSettings, 'queues'>,
  agent_name: string,
): EndpointSettings => {
  const tools = chosen.tools ?? [...defaultGrants]
  return {
    name: agent_name,
    tools,
    webhook_max: tools.includes(WEBHOOK_GRANT) ? WEBHOOKS_PER_ENDPOINT_DEFAULT : 0,
    webhook_source_types: [...SourceType.options],
    webhook_queues: chosen.queues,
    default_lease_ttl_seconds: null,
    require_fence: false,
    rate_limit: RATE_LIMIT_DEFAULT,
    allowed_cidrs: [],
    expires_at: null,
    ...chosen,
  }
}

export const unusableCeiling = (cause?: unknown): ServiceError =>
  new ServiceError(
    'invalid_argument',
    'webhook_max above 0 needs at least one entry in webhook_source_types and in webhook_queues',
    { cause, what_to_do: 'Name a source type and a queue, or set webhook_max to 0.' },
  )
