import { type AgentChanged, DEFAULT_DOMAIN, REPUTATION_INHERITED } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { ANY_DOMAIN, readScores, rescored } from './domain-scores.ts'
import { scoreAt } from './score.ts'
import { hasEvidenceBefore } from './store/evidence.ts'
import { saveScores } from './store/scores.ts'
import { insertSeeds, meetConfig, type SeedRow } from './store/seeds.ts'

type Seed = NonNullable<AgentChanged['seed']>

/** 70 % of what the other configuration has at this moment, wherever it is known for something. */
const inherit = async (trx: Trx, event: AgentChanged, seed: Seed): Promise<SeedRow[]> => {
  const { user_id, agent, at } = event
  const { from_config_hash, domain } = seed
  const from = await readScores(trx, { user_id, config_hash: from_config_hash, domain })
  const known = from.scores.map((score) => score.domain)
  return [...new Set([domain, DEFAULT_DOMAIN, ANY_DOMAIN, ...known])].map((name) => {
    const { prior, sums } = from.of(name)
    return {
      user_id,
      config_hash: agent.config_hash,
      domain: name,
      prior: REPUTATION_INHERITED * scoreAt(prior, sums, at),
      from_config_hash,
      at: new Date(at),
    }
  })
}

/** Evidence may have come in first: it keeps its weight, beside the prior that it should have. */
const applySeeds = async (trx: Trx, seeds: readonly SeedRow[]): Promise<void> => {
  const [first] = seeds
  if (first === undefined) return
  const { user_id, config_hash, domain } = first
  const present = await readScores(trx, { user_id, config_hash, domain })
  const priors = new Map(seeds.map((seed) => [seed.domain, seed.prior]))
  const names = new Set([...priors.keys(), ...present.scores.map((score) => score.domain)])
  await saveScores(
    trx,
    [...names].map((name) => ({
      ...rescored(present.of(name), { prior: priors.get(name) ?? priors.get(ANY_DOMAIN) ?? 0 }),
      seeded: priors.has(name),
    })),
  )
}

/**
 * Seeds a configuration that its owner never had before. One that is known, be it by another agent
 * or by its own past, keeps what it has: going back and forth between two neither adds credit nor
 * sheds a bad record. Evidence that is older than the change shows that it is known as well, even
 * if no event ever told so; evidence that is younger was merely faster.
 */
export const seedConfig = async (trx: Trx, event: AgentChanged): Promise<void> => {
  const { user_id, agent, seed } = event
  const { config_hash } = agent
  const at = new Date(event.at)
  if (seed !== null && seed.from_config_hash !== config_hash) {
    await meetConfig(trx, { user_id, config_hash: seed.from_config_hash, at })
  }
  const is_new = await meetConfig(trx, { user_id, config_hash, at })
  if (seed === null || !is_new || seed.from_config_hash === config_hash) return
  if (await hasEvidenceBefore(trx, { user_id, config_hash, before: at })) return
  const seeds = await inherit(trx, event, seed)
  await insertSeeds(trx, seeds)
  await applySeeds(trx, seeds)
}
