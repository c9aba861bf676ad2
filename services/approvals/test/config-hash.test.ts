import { createHash } from 'node:crypto'
import type { HashedConfig } from '@guildhall/contracts'
import t from 'tap'
import { configHash } from '../src/config-hash.ts'

const empty: HashedConfig = {
  model: '',
  system_prompt: '',
  tool_scope: [],
  skills: [],
  mcp_servers: [],
  subagents: [],
}

const researcher: HashedConfig = {
  model: 'claude-opus-4',
  system_prompt: 'You are a careful research assistant.',
  tool_scope: ['fetch', 'search', 'summarize'],
  skills: ['research', 'writing'],
  subagents: ['critic', 'reviewer'],
  mcp_servers: [
    { name: 'fs', transport: 'stdio', url: 'stdio://fs' },
    { name: 'synapbus', transport: 'http', url: 'http://localhost:8080/mcp' },
  ],
}

const RESEARCHER = 'c40ef793adc76ef33430fb6e5e9a77d845bfb798797edc5a26fd961b953ff386'

t.test('scenario 16: the published vectors', async (t) => {
  t.equal(configHash(empty), '72cc9149c1ce2f4f12d44f42297bc515f0d00cd692b3557cb279e9676b4f02a0')
  t.equal(configHash(researcher), RESEARCHER)
})

t.test('scenario 16: the order of a list changes nothing', async (t) => {
  const shuffled: HashedConfig = {
    ...researcher,
    tool_scope: ['summarize', 'fetch', 'search'],
    skills: ['writing', 'research'],
    subagents: ['reviewer', 'critic'],
    mcp_servers: [...researcher.mcp_servers].reverse(),
  }
  t.equal(configHash(shuffled), RESEARCHER)
})

t.test('two servers of one name have one order', async (t) => {
  const one = { name: 'a', url: 'http://1', transport: 'http' }
  const other = { name: 'a', url: 'http://2', transport: 'http' }
  t.equal(
    configHash({ ...empty, mcp_servers: [one, other] }),
    configHash({ ...empty, mcp_servers: [other, one] }),
  )
})

const changes: readonly Partial<HashedConfig>[] = [
  { model: 'claude-opus-5' },
  { system_prompt: 'You are a careful research assistant' },
  { tool_scope: ['fetch', 'search'] },
  // A duplicate counts.
  { tool_scope: ['fetch', 'search', 'summarize', 'summarize'] },
  { skills: [] },
  { subagents: ['critic'] },
  {
    mcp_servers: [
      { name: 'fs', transport: 'stdio', url: 'stdio://other' },
      { name: 'synapbus', transport: 'http', url: 'http://localhost:8080/mcp' },
    ],
  },
]

t.test('scenario 16: each hashed field counts', async (t) => {
  const hashes = changes.map((change) => configHash({ ...researcher, ...change }))
  t.equal(new Set([RESEARCHER, ...hashes]).size, changes.length + 1)
})

t.test('texts are escaped as other systems do it', async (t) => {
  const text =
    '{"mcp_servers":[],"model":"","skills":null,"subagents":null,' +
    '"system_prompt":"a\\u003cb\\u003e\\u0026\\u2028\\u2029\\"\\n","tool_scope":null}'
  t.equal(
    configHash({ ...empty, system_prompt: 'a<b>&\u2028\u2029"\n' }),
    createHash('sha256').update(text).digest('hex'),
  )
})

t.test('labels are sorted by their bytes, not by their letters', async (t) => {
  // U+FF5E has fewer bytes and comes first, though its UTF-16 unit is above a surrogate's.
  const text =
    '{"mcp_servers":[],"model":"","skills":["Z","a","\uFF5E","\u{1F600}"],"subagents":null,' +
    '"system_prompt":"","tool_scope":null}'
  t.equal(
    configHash({ ...empty, skills: ['\u{1F600}', 'a', '\uFF5E', 'Z'] }),
    createHash('sha256').update(text).digest('hex'),
  )
})
