import type { Handler } from '@guildhall/bus'
import type { getReputation } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { readScores } from '../domain-scores.ts'
import { knownAgent } from '../known-agent.ts'
import { scoreAt, sumsAt } from '../score.ts'
import type { StoredScore } from '../store/scores.ts'

/** As it reads at this moment, not when it was last written. */
const shown = ({ domain, prior, sums, seeded, evidence_count }: StoredScore, now_ms: number) => ({
  domain,
  rolling_score: scoreAt(prior, sums, now_ms),
  evidence_count: evidence_count + (seeded ? 1 : 0),
  evidence_weight: sumsAt(sums, now_ms).weight,
  last_evidence_at: evidence_count === 0 ? null : new Date(sums.as_of_ms).toISOString(),
})

export const handleGetReputation =
  (deps: Deps): Handler<typeof getReputation> =>
  async ({ principal }, { agent_id, domain }) => {
    const { user_id } = principal
    const { config_hash, quarantined } = await knownAgent(deps, { user_id, agent_id })
    const scores = await readScores(deps.db, { user_id, config_hash, domain })
    const now_ms = deps.clock.now()
    const { evidence_weight: _weight, ...asked } = shown(scores.of(domain), now_ms)
    return {
      agent_id,
      config_hash,
      ...asked,
      domains: scores.scores.map((score) => shown(score, now_ms)),
      quarantined,
    }
  }
