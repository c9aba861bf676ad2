import type { Trx } from '@guildhall/db'
import { announceNotice, announceStanding } from './announce.ts'
import { NOTICE_NAMES_MAX } from './limits.ts'
import { isQuarantineDue, scoreAt, scoreText, sumsAt } from './score.ts'
import type { StoredScore } from './store/scores.ts'
import { agentNames, quarantineAgents } from './store/standing.ts'

/** Why a configuration is to be quarantined: the lowest of the scores that demand it. */
interface Finding {
  readonly user_id: number
  readonly config_hash: string
  readonly domain: string
  readonly score: number
}

export const findQuarantine = (
  scores: readonly StoredScore[],
  at_ms: number,
): Finding | undefined =>
  scores
    .map(({ user_id, config_hash, domain, prior, sums }) => ({
      user_id,
      config_hash,
      domain,
      score: scoreAt(prior, sums, at_ms),
      weight: sumsAt(sums, at_ms).weight,
    }))
    .filter(({ score, weight }) => isQuarantineDue(score, weight))
    .sort((a, b) => a.score - b.score)[0]

interface Cause {
  readonly now_ms: number
  readonly negative: boolean
}

const namesOf = (agents: readonly { readonly name: string }[]): string => {
  const shown = agents.slice(0, NOTICE_NAMES_MAX).map(({ name }) => name)
  const more = agents.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/**
 * Applies to every active agent of the configuration, and tells the owner once for all of them.
 * Answers how many were not quarantined before.
 */
export const quarantine = async (
  trx: Trx,
  finding: Finding,
  { now_ms, negative }: Cause,
): Promise<number> => {
  const { user_id, config_hash, domain, score } = finding
  const reason = `reputation=${scoreText(score)} domain=${domain}`
  const at = new Date(now_ms)
  const rows = await quarantineAgents(trx, { user_id, config_hash, reason, at, negative })
  const [first] = rows
  if (first === undefined) return 0
  for (const row of rows) await announceStanding(trx, row, null)
  const agent_ids = rows.map(({ agent_id }) => agent_id)
  const agents = await agentNames(trx, { user_id, agent_ids })
  await announceNotice(
    trx,
    {
      v: 1,
      user_id,
      to: { kind: 'owner' },
      body:
        `Quarantined: ${namesOf(agents)}. The score in ${domain} fell to ${scoreText(score)}. ` +
        'They take no new work until you lift it; what they hold is still taken in.',
      metadata: { kind: 'quarantined', agent_ids, config_hash, domain, score },
      at: now_ms,
    },
    // Each version of a standing is reached once, so this names the one moment it is about.
    `quarantine-notice-${user_id}-${first.agent_id}-${first.version}`,
  )
  return rows.length
}
