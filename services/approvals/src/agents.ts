import {
  AGENTS_PER_USER_MAX,
  type AgentChanged,
  DEFAULT_DOMAIN,
  type HashedConfig,
  namedError,
  ServiceError,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { COORDINATOR, coordinatorConfig, unstatedConfig } from './agent-config.ts'
import { announceAgent } from './announce.ts'
import { audit, type Call, claimCall } from './call.ts'
import { configHash } from './config-hash.ts'
import {
  type AgentChanges,
  type AgentKey,
  countActiveAgents,
  findActiveAgentNamed,
  findAgent,
  insertAgent,
  lockAgent,
  type NewAgent,
  reserveAgentId,
  type StoredAgent,
  updateAgent,
} from './store/agents.ts'
import { lockUser } from './store/users.ts'

/** Agents and what they are made of, each change a step of its caller's transaction. */

export const noSuchAgent = (): ServiceError =>
  new ServiceError('not_found', 'there is no such agent')

const isInactive = (): ServiceError =>
  new ServiceError('conflict', 'this agent is deactivated', {
    what_to_do: 'A deactivated agent stays so. Make another one; its name is free again.',
  })

export const nameTaken = (name: string): ServiceError =>
  namedError('ErrAgentNameTaken', `there is an active agent named ${JSON.stringify(name)}`)

const templateTaken = (template: string): ServiceError =>
  new ServiceError('conflict', `another agent is the coordinator ${JSON.stringify(template)}`, {
    what_to_do: 'Take the template from that agent first: edit it with coordinator_template null.',
  })

/** Also the lock under which the agents of an owner are counted. */
export const checkAgentCeiling = async (trx: Trx, user_id: number): Promise<void> => {
  if (!(await lockUser(trx, user_id))) throw new ServiceError('not_found', 'there is no such user')
  if ((await countActiveAgents(trx, user_id)) < AGENTS_PER_USER_MAX) return
  throw new ServiceError(
    'ceiling_exceeded',
    `you have ${AGENTS_PER_USER_MAX} active agents, which is the most there may be`,
    { what_to_do: 'Deactivate an agent that is not needed any more.' },
  )
}

export const existingAgent = async (trx: Trx, key: AgentKey): Promise<StoredAgent> => {
  const agent = await findAgent(trx, key)
  if (agent === undefined) throw noSuchAgent()
  return agent
}

/** The same, under its lock; only while it is active. */
export const lockActiveAgent = async (trx: Trx, key: AgentKey): Promise<StoredAgent> => {
  const agent = await lockAgent(trx, key)
  if (agent === undefined) throw noSuchAgent()
  if (agent.status === 'inactive') throw isInactive()
  return agent
}

/** Only what an agent's hash is computed from. */
export const hashedPart = (agent: HashedConfig): HashedConfig => ({
  model: agent.model,
  system_prompt: agent.system_prompt,
  tool_scope: agent.tool_scope,
  skills: agent.skills,
  mcp_servers: agent.mcp_servers,
  subagents: agent.subagents,
})

interface AgentTraits {
  readonly name: string
  readonly display_name?: string | undefined
  readonly autonomy_tier: NewAgent['autonomy_tier']
  readonly coordinator_template?: string | null | undefined
  readonly config: HashedConfig
}

type Origin = Pick<
  NewAgent,
  'spawn_depth' | 'parent_agent_id' | 'parent_config_hash' | 'goal_id' | 'parent_task_id'
>

const NO_ORIGIN: Origin = {
  spawn_depth: 0,
  parent_agent_id: null,
  parent_config_hash: null,
  goal_id: null,
  parent_task_id: null,
}

interface Making {
  readonly agent_id: number
  readonly change: AgentChanged['change']
  readonly origin?: Origin
  readonly seed?: AgentChanged['seed']
}

/** Undefined when the name, or the template, is taken. */
export const makeAgentIn = async (
  trx: Trx,
  call: Call,
  { name, display_name = name, autonomy_tier, coordinator_template = null, config }: AgentTraits,
  { agent_id, change, origin = NO_ORIGIN, seed = null }: Making,
): Promise<StoredAgent | undefined> => {
  const agent = await insertAgent(trx, {
    ...hashedPart(config),
    ...origin,
    agent_id,
    user_id: call.user_id,
    name,
    display_name,
    autonomy_tier,
    coordinator_template,
    config_hash: configHash(config),
    created_at: call.now,
  })
  if (agent === undefined) return undefined
  await announceAgent(trx, agent, { change, seed, at: call.now })
  await audit(trx, call, `agent.${change}`, `agent:${agent_id}`, {
    name,
    config_hash: agent.config_hash,
    ...origin,
  })
  return agent
}

/** The owner's active agent of this name, made when there is none. The caller holds the owner's lock. */
export const ensureAgentIn = async (
  trx: Trx,
  call: Call,
  name: string,
  tool_scope: readonly string[],
): Promise<StoredAgent> => {
  const known = await findActiveAgentNamed(trx, { user_id: call.user_id, name })
  if (known !== undefined) return known
  await checkAgentCeiling(trx, call.user_id)
  const made = await makeAgentIn(
    trx,
    call,
    {
      name,
      autonomy_tier: 'supervised',
      config: { ...unstatedConfig(name), tool_scope: [...new Set(tool_scope)] },
    },
    { agent_id: await reserveAgentId(trx), change: 'created' },
  )
  if (made === undefined) throw nameTaken(name)
  return made
}

/** Every owner has one, from the beginning. */
export const addCoordinatorIn = async (trx: Trx, call: Call): Promise<void> => {
  await makeAgentIn(
    trx,
    call,
    { ...COORDINATOR, config: coordinatorConfig },
    { agent_id: await reserveAgentId(trx), change: 'created' },
  )
}

type ConfigInput = { readonly [K in keyof HashedConfig]?: HashedConfig[K] | undefined } & {
  readonly display_name?: string | undefined
  readonly autonomy_tier?: NewAgent['autonomy_tier'] | undefined
  readonly coordinator_template?: string | null | undefined
}

const taken = async (
  trx: Trx,
  user_id: number,
  name: string,
  template: string | null | undefined,
): Promise<ServiceError> =>
  typeof template === 'string' && (await findActiveAgentNamed(trx, { user_id, name })) === undefined
    ? templateTaken(template)
    : nameTaken(name)

export const createAgentIn = async (
  trx: Trx,
  call: Call,
  { name, ...input }: ConfigInput & { readonly name: string },
): Promise<StoredAgent> => {
  const { user_id } = call
  const { repeat, object_id } = await claimCall(trx, call, String(await reserveAgentId(trx)))
  const agent_id = Number(object_id)
  if (repeat) return await existingAgent(trx, { user_id, agent_id })
  await checkAgentCeiling(trx, user_id)
  const unstated = unstatedConfig(name)
  const agent = await makeAgentIn(
    trx,
    call,
    {
      name,
      display_name: input.display_name,
      autonomy_tier: input.autonomy_tier ?? 'supervised',
      coordinator_template: input.coordinator_template,
      config: {
        model: input.model ?? unstated.model,
        system_prompt: input.system_prompt ?? unstated.system_prompt,
        tool_scope: input.tool_scope ?? unstated.tool_scope,
        skills: input.skills ?? unstated.skills,
        mcp_servers: input.mcp_servers ?? unstated.mcp_servers,
        subagents: input.subagents ?? unstated.subagents,
      },
    },
    { agent_id, change: 'created' },
  )
  if (agent === undefined) throw await taken(trx, user_id, name, input.coordinator_template)
  return agent
}

const isTemplateClash = (error: unknown): boolean =>
  error instanceof Error &&
  'constraint' in error &&
  error.constraint === 'agents_active_template_key'

const present = (input: ConfigInput): AgentChanges =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))

/** A changed configuration is a new one to reputation, which starts it from what the old one earned. */
export const editAgentIn = async (
  trx: Trx,
  call: Call,
  key: AgentKey,
  input: ConfigInput,
): Promise<StoredAgent> => {
  const before = await lockActiveAgent(trx, key)
  const changes = present(input)
  const config_hash = configHash(hashedPart({ ...before, ...changes }))
  const same = Object.entries(changes).every(
    ([field, value]) =>
      JSON.stringify(value) === JSON.stringify(before[field as keyof AgentChanges]),
  )
  if (same) return before
  const agent = await updateAgent(trx, key, { ...changes, config_hash }).catch((error: unknown) => {
    throw isTemplateClash(error) ? templateTaken(String(changes.coordinator_template)) : error
  })
  if (agent === undefined) throw isInactive()
  const seed =
    config_hash === before.config_hash
      ? null
      : { from_config_hash: before.config_hash, domain: DEFAULT_DOMAIN }
  await announceAgent(trx, agent, { change: 'edited', seed, at: call.now })
  await audit(trx, call, 'agent.edited', `agent:${agent.agent_id}`, {
    fields: Object.keys(changes),
    config_hash,
    version: agent.version,
  })
  return agent
}
