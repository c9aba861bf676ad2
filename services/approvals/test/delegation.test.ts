import t from 'tap'
import { capDelegation, foreignServers, type Grant } from '../src/delegation.ts'

const grant = (changes: Partial<Grant> = {}): Grant => ({
  autonomy_tier: 'assisted',
  tool_scope: ['search'],
  budget_tokens: 0,
  budget_dollars_cents: 0,
  ...changes,
})

const cap = (
  parent: Partial<Grant> & { spawn_depth?: number },
  proposed: Partial<Grant>,
  max_spawn_depth = 3,
) =>
  capDelegation(
    { ...grant(parent), spawn_depth: parent.spawn_depth ?? 0 },
    grant(proposed),
    max_spawn_depth,
  )

const fieldsOf = (delegation: ReturnType<typeof cap>) =>
  delegation.violations.map(({ field }) => field)

const tiers: readonly (readonly [string, string, boolean, string])[] = [
  ['supervised', 'supervised', true, 'supervised'],
  ['supervised', 'assisted', false, 'supervised'],
  ['supervised', 'autonomous', false, 'supervised'],
  ['assisted', 'supervised', true, 'supervised'],
  ['assisted', 'assisted', true, 'assisted'],
  ['assisted', 'autonomous', false, 'assisted'],
  ['autonomous', 'supervised', true, 'supervised'],
  ['autonomous', 'assisted', true, 'assisted'],
  ['autonomous', 'autonomous', true, 'autonomous'],
  ['emperor', 'supervised', true, 'supervised'],
  ['emperor', 'assisted', false, 'supervised'],
  ['autonomous', 'emperor', false, 'supervised'],
]

t.test('scenario 12: a tier is handed on up to the own one', async (t) => {
  for (const [parent, proposed, ok, effective] of tiers) {
    const result = cap({ autonomy_tier: parent }, { autonomy_tier: proposed })
    t.strictSame(fieldsOf(result), ok ? [] : ['autonomy_tier'], `${parent} gives ${proposed}`)
    t.equal(result.effective.autonomy_tier, effective)
  }
})

t.test('scenario 13: what the proposer lacks is named, and not given', async (t) => {
  const result = cap({ tool_scope: ['search'] }, { tool_scope: ['search', 'execute'] })
  t.strictSame(result.effective.tool_scope, ['search'])
  t.strictSame(result.violations, [
    { field: 'tool_scope', problem: '"execute" is not in the proposer\'s own scope' },
  ])
})

t.test('missing tools are reported one by one, sorted; no name is a pattern', async (t) => {
  const result = cap(
    { tool_scope: ['messages:*', '*'] },
    { tool_scope: ['z', 'messages:read', 'z'] },
  )
  t.strictSame(
    result.violations.map(({ problem }) => problem.split(' ')[0]),
    ['"messages:read"', '"z"'],
  )
  t.strictSame(result.effective.tool_scope, [])
  t.strictSame(fieldsOf(cap({ tool_scope: [] }, { tool_scope: ['search'] })), ['tool_scope'])
  t.strictSame(fieldsOf(cap({ tool_scope: [] }, { tool_scope: [] })), [])
})

const amounts: readonly (readonly [number, number, boolean, number])[] = [
  [0, 100, true, 100],
  [0, 0, true, 0],
  [100, 100, true, 100],
  [100, 200, false, 100],
  [100, 0, true, 100],
  [100, -5, false, 0],
  [0, -5, false, 0],
]

t.test('scenario 13: budgets', async (t) => {
  for (const field of ['budget_tokens', 'budget_dollars_cents'] as const) {
    for (const [parent, child, ok, effective] of amounts) {
      const result = cap({ [field]: parent }, { [field]: child })
      t.strictSame(fieldsOf(result), ok ? [] : [field], `${parent} gives ${child}`)
      t.equal(result.effective[field], effective)
    }
  }
})

t.test('scenario 14: depth', async (t) => {
  const ok = cap({ spawn_depth: 4 }, {}, 5)
  t.strictSame([ok.effective.spawn_depth, fieldsOf(ok)], [5, []])
  t.strictSame(fieldsOf(cap({ spawn_depth: 5 }, {}, 5)), ['spawn_depth'])
})

t.test('scenario 14: all violations are reported at once, in a fixed order', async (t) => {
  const result = cap(
    { autonomy_tier: 'supervised', spawn_depth: 5, budget_tokens: 1, budget_dollars_cents: 1 },
    {
      autonomy_tier: 'autonomous',
      tool_scope: ['execute', 'deploy'],
      budget_tokens: 2,
      budget_dollars_cents: 2,
    },
    5,
  )
  t.strictSame(fieldsOf(result), [
    'autonomy_tier',
    'tool_scope',
    'tool_scope',
    'budget_tokens',
    'budget_dollars_cents',
    'spawn_depth',
  ])
})

t.test('a server is the own one only if all of it is the same', async (t) => {
  const own = { name: 'fs', url: 'stdio://fs', transport: 'stdio' }
  const moved = { ...own, url: 'http://elsewhere' }
  t.strictSame(foreignServers([own], [own, moved]), [moved])
})
