import {
  type Endpoint,
  LEASE_DEFAULT_SECONDS,
  LEASE_MAX_SECONDS,
  tools,
} from '@guildhall/contracts'
import t from 'tap'
import { viewOf } from '../src/identity/endpoint-view.ts'
import { instructionsFor } from '../src/protocol/instructions.ts'
import { listTools } from '../src/tools/list-tools.ts'

const endpoint = (fields: Partial<Endpoint>): Endpoint => ({
  endpoint_id: 'ep_01JZZZZZZZZZZZZZZZZZZZZZZZ' as Endpoint['endpoint_id'], // the shape is right
  user_id: 1,
  agent_id: 1,
  agent_name: 'worker',
  name: 'main',
  tools: tools.map(({ name }) => name),
  queues: ['inbox'],
  webhook_max: 0,
  webhook_source_types: [],
  webhook_queues: [],
  default_lease_ttl_seconds: null,
  require_fence: false,
  rate_limit: { per_second: 20, burst: 40 },
  allowed_cidrs: [],
  expires_at: null,
  status: 'active',
  credential_prefix: 'agt_',
  created_at: '2030-01-01T00:00:00.000Z',
  revoked_at: null,
  version: 1,
  ...fields,
})

const numbersIn = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number)

t.test('I1 the instructions state the lease contract from the constants', (t) => {
  const text = instructionsFor(viewOf(endpoint({})))
  t.ok(numbersIn(text).includes(LEASE_DEFAULT_SECONDS))
  t.ok(numbersIn(text).includes(LEASE_MAX_SECONDS))
  for (const word of ['claim_next', 'heartbeat', 'conflict', 'require_fence', 'lease_token']) {
    t.match(text, word)
  }
  for (const verb of ['complete', 'fail', 'release']) t.match(text, verb)
  t.notMatch(text, 'list_todos')
  t.end()
})

t.test('I1 the instructions state the default of this endpoint', (t) => {
  const text = instructionsFor(viewOf(endpoint({ default_lease_ttl_seconds: 2_700 })))
  t.match(text, 'it lasts 2700 seconds (this endpoint')
  t.match(text, `the server's default is ${LEASE_DEFAULT_SECONDS}`)
  t.end()
})

t.test('whoever may claim tasks of goals is told how, and nobody else', (t) => {
  const told = instructionsFor(viewOf(endpoint({})))
  for (const word of ['claim_task', 'submit_task', 'tk_<task_id>', 'request_resource']) {
    t.match(told, word)
  }
  t.notMatch(instructionsFor(viewOf(endpoint({ tools: ['claim_next'] }))), 'claim_task')
  t.end()
})

interface Listed {
  readonly name: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
  readonly outputSchema: Record<string, unknown>
}

const listed = (fields: Partial<Endpoint>): Listed[] =>
  JSON.parse(`{${listTools(viewOf(endpoint(fields)))}}`).tools

t.test('B10 the tools that lease something state the default lease, and only these', (t) => {
  const stating = listed({ default_lease_ttl_seconds: 2_700 }).filter(
    ({ description, inputSchema }) =>
      description.includes('2700') && JSON.stringify(inputSchema).includes('2700'),
  )
  t.strictSame(
    stating.map(({ name }) => name),
    ['claim_next', 'claim', 'heartbeat', 'claim_task'],
  )
  for (const { description } of listed({}).slice(0, 3)) t.match(description, '300 seconds')
  t.end()
})

/** Every schema within a schema that describes a property. */
const propertySchemas = (schema: unknown): Record<string, unknown>[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const nested = Object.values(schema).flatMap(propertySchemas)
  const own = 'properties' in schema ? Object.values(schema.properties as object) : []
  return [...own, ...nested]
}

t.test('schemas stay in the subset that all clients accept', (t) => {
  for (const { name, inputSchema, outputSchema } of listed({})) {
    t.match(inputSchema, { type: 'object', additionalProperties: false }, name)
    t.match(outputSchema, { type: 'object', additionalProperties: false }, name)
    for (const key of ['anyOf', 'oneOf', 'allOf', '$ref', '$defs']) {
      t.notOk(key in inputSchema || key in outputSchema, `${name} has no ${key} at its root`)
    }
    t.notMatch(JSON.stringify([inputSchema, outputSchema]), '"$ref"')
    const untyped = propertySchemas([inputSchema, outputSchema]).filter((part) => !('type' in part))
    t.strictSame(untyped, [], `${name} has a type at each property`)
  }
  t.end()
})
