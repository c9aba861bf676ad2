import { CREDENTIAL_CLAIM_SECONDS, domainOf } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { checkAgentCeiling, makeAgentIn, nameTaken } from './agents.ts'
import type { Call } from './call.ts'
import type { Deps } from './deps.ts'
import { checkMayStart, checkTaskOpen } from './goal-checks.ts'
import { readSpawnPlace } from './propose-agent.ts'
import { AgentProposal, checkDelegation, type SpawnPlace } from './spawn-rules.ts'
import { findAgent, reserveAgentId, type StoredAgent } from './store/agents.ts'
import type { StoredApproval } from './store/approvals.ts'
import { insertCredentialClaim } from './store/credential-claims.ts'
import { tellAgentIn } from './tell.ts'
import { newLoginToken } from './tokens.ts'

/** An approved agent comes to be, in the transaction of its approval. */

/** Not the credential: a token that can be exchanged for it, once and for a day. */
const offerCredential = async (
  trx: Trx,
  { public_mcp_url }: Pick<Deps, 'public_mcp_url'>,
  call: Call,
  agent: StoredAgent,
  { proposer_id, slug }: { readonly proposer_id: number; readonly slug: string },
): Promise<void> => {
  const { token, sha256 } = newLoginToken()
  const expires_at = new Date(call.now.getTime() + CREDENTIAL_CLAIM_SECONDS * 1_000)
  await insertCredentialClaim(trx, {
    token_sha256: sha256,
    user_id: call.user_id,
    agent_id: agent.agent_id,
    queue: `goal-${slug}`,
    created_at: call.now,
    expires_at,
  })
  const url = new URL('/api/credentials/claim', public_mcp_url)
  await tellAgentIn(trx, call, proposer_id, {
    body: [
      `Your proposal was approved: ${agent.name} is agent ${agent.agent_id}.`,
      `Its credential can be claimed once, until ${expires_at.toISOString()}:`,
      `POST ${url.href} with the JSON body {"claim_token": "${token}"}`,
    ].join('\n'),
    metadata: { agent_id: agent.agent_id, config_hash: agent.config_hash },
  })
}

/** Everything that may have changed since it was proposed; throws before anything is written. */
const recheck = async (
  trx: Trx,
  { records }: Deps,
  { user_id, requested_by_agent_id }: StoredApproval,
  proposal: AgentProposal,
): Promise<{ proposer: StoredAgent; place: SpawnPlace; spawn_depth: number }> => {
  const proposer = await findAgent(trx, { user_id, agent_id: requested_by_agent_id ?? 0 })
  if (proposer === undefined) throw new Error('an agent proposal names its proposer')
  const place = await readSpawnPlace(records, proposer, proposal)
  checkMayStart(place.goal)
  checkTaskOpen(place.task)
  const { spawn_depth } = checkDelegation(proposer, proposal, place)
  await checkAgentCeiling(trx, user_id)
  return { proposer, place, spawn_depth }
}

export const spawnAgentIn = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  approval: StoredApproval,
): Promise<Readonly<Record<string, unknown>>> => {
  const proposal = AgentProposal.parse(approval.payload)
  const { proposer, place, spawn_depth } = await recheck(trx, deps, approval, proposal)
  const { name, autonomy_tier, goal_id, parent_task_id } = proposal
  const agent = await makeAgentIn(
    trx,
    call,
    { name, autonomy_tier, config: proposal },
    {
      agent_id: await reserveAgentId(trx),
      change: 'spawned',
      origin: {
        spawn_depth,
        parent_agent_id: proposer.agent_id,
        parent_config_hash: proposer.config_hash,
        goal_id,
        parent_task_id,
      },
      seed: {
        from_config_hash: proposer.config_hash,
        domain: domainOf(place.task.billing_code),
      },
    },
  )
  // The insert is the first write, and it found the name taken: nothing has changed so far.
  if (agent === undefined) throw nameTaken(name)
  await offerCredential(trx, deps, call, agent, {
    proposer_id: proposer.agent_id,
    slug: place.goal.slug,
  })
  return { agent_id: agent.agent_id, config_hash: agent.config_hash }
}
