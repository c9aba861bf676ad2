import { AutonomyTier, type McpServer } from '@guildhall/contracts'

/**
 * The delegation cap: nobody can hand on more than they have. Pure; the caller says what "having"
 * is. Every violation is reported at once, in a fixed order, so that one correction is enough.
 */

export interface Grant {
  /** Any text: what is no known tier counts as the lowest. */
  readonly autonomy_tier: string
  readonly tool_scope: readonly string[]
  /** Of the giver, 0: no limit. Of what is asked for, 0: as much as the giver has. */
  readonly budget_tokens: number
  readonly budget_dollars_cents: number
}

export interface Delegation {
  readonly effective: {
    readonly autonomy_tier: AutonomyTier
    readonly tool_scope: readonly string[]
    readonly budget_tokens: number
    readonly budget_dollars_cents: number
    readonly spawn_depth: number
  }
  readonly violations: readonly Violation[]
}

export interface Violation {
  readonly field: keyof Delegation['effective']
  readonly problem: string
}

const TIERS = AutonomyTier.options
const rankOf = (tier: string): number => (TIERS as readonly string[]).indexOf(tier)

const capTier = (parent: string, proposed: string) => {
  const above = Math.max(0, rankOf(parent))
  const asked = rankOf(proposed)
  const allowed = TIERS[Math.min(above, Math.max(0, asked))] ?? 'supervised'
  if (asked < 0) return { value: allowed, problems: [`${JSON.stringify(proposed)} is no tier`] }
  if (asked <= above) return { value: allowed, problems: [] }
  return { value: allowed, problems: [`${proposed} is above ${TIERS[above]}, which is the most`] }
}

/** Names are compared whole: a name with a star in it is just another name. */
const capTools = (parent: readonly string[], proposed: readonly string[]) => {
  const owned = new Set(parent)
  const asked = [...new Set(proposed)].sort()
  return {
    value: asked.filter((tool) => owned.has(tool)),
    problems: asked
      .filter((tool) => !owned.has(tool))
      .map((tool) => `${JSON.stringify(tool)} is not in the proposer's own scope`),
  }
}

const capBudget = (parent: number, proposed: number) => {
  if (proposed < 0) return { value: 0, problems: [`${proposed} is negative`] }
  if (proposed === 0) return { value: parent, problems: [] }
  if (parent === 0 || proposed <= parent) return { value: proposed, problems: [] }
  return { value: parent, problems: [`${proposed} is more than the ${parent} that are left`] }
}

const capDepth = (parent: number, max: number) => ({
  value: parent + 1,
  problems: parent + 1 > max ? [`${parent + 1} is deeper than ${max}, which is the most`] : [],
})

export const capDelegation = (
  parent: Grant & { readonly spawn_depth: number },
  proposed: Grant,
  max_spawn_depth: number,
): Delegation => {
  const capped = {
    autonomy_tier: capTier(parent.autonomy_tier, proposed.autonomy_tier),
    tool_scope: capTools(parent.tool_scope, proposed.tool_scope),
    budget_tokens: capBudget(parent.budget_tokens, proposed.budget_tokens),
    budget_dollars_cents: capBudget(parent.budget_dollars_cents, proposed.budget_dollars_cents),
    spawn_depth: capDepth(parent.spawn_depth, max_spawn_depth),
  }
  const fields = Object.keys(capped) as (keyof typeof capped)[] // its own keys, in that order
  return {
    effective: {
      autonomy_tier: capped.autonomy_tier.value,
      tool_scope: capped.tool_scope.value,
      budget_tokens: capped.budget_tokens.value,
      budget_dollars_cents: capped.budget_dollars_cents.value,
      spawn_depth: capped.spawn_depth.value,
    },
    violations: fields.flatMap((field) =>
      capped[field].problems.map((problem) => ({ field, problem })),
    ),
  }
}

/** Servers are a capability too: those that the giver does not have itself, exactly so. */
export const foreignServers = (
  parent: readonly McpServer[],
  proposed: readonly McpServer[],
): readonly McpServer[] =>
  proposed.filter(
    ({ name, url, transport }) =>
      !parent.some((own) => own.name === name && own.url === url && own.transport === transport),
  )
