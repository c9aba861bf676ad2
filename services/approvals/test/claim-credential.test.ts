import {
  claimCredential,
  deactivateAgent,
  decideApproval,
  proposeAgent,
} from '@guildhall/contracts'
import t, { type Test } from 'tap'
import { LOGIN_ATTEMPTS_PER_ADDRESS } from '../src/limits.ts'
import { goalWorld } from './goal-world.ts'
import { refusal } from './setup.ts'

/** A spawned agent, and the token by which its credential can be claimed. */
const spawned = async (t: Test) => {
  const w = await goalWorld(t)
  const { proposal_id } = await w.call(
    proposeAgent,
    {
      goal_id: w.goal.goal_id,
      parent_task_id: w.task.task_id,
      name: 'docs-scanner',
      model: 'gemini-2.5-flash',
      system_prompt: 'You scan documentation for drift.',
      tool_scope: ['messages:read', 'reactions:add'],
      autonomy_tier: 'supervised',
      reason: 'somebody has to read them',
    },
    { principal: w.coordinator },
  )
  await w.call(
    decideApproval,
    { approval_id: proposal_id, decision: 'approve' },
    { principal: w.s.ann },
  )
  const [told] = await w.messages(`dm-${w.coordinator.agent_id}`)
  const claim_token = /"claim_token": "([^"]+)"/.exec(told?.body ?? '')?.[1] ?? ''
  const claim = (input: { claim_token?: string; client_address?: string } = {}, key?: string) =>
    w.call(
      claimCredential,
      { claim_token, client_address: '192.0.2.1', ...input },
      { idempotency_key: key },
    )
  return { ...w, claim_token, claim }
}

t.test('the claim gives a credential that works, with what the scope means here', async (t) => {
  const w = await spawned(t)
  const answer = await w.claim()
  const credential = await w.identity.credential(answer.token)
  const endpoint_id =
    credential?.kind === 'endpoint' && !credential.revoked ? credential.endpoint_id : ''
  const endpoint = await w.identity.endpoint(endpoint_id)

  t.match(answer, { agent_name: 'docs-scanner', token: /^agt_/ })
  t.strictSame(endpoint?.queues, [`goal-${w.goal.slug}`])
  t.strictSame(endpoint?.tools, [
    'claim_task',
    'get_approval',
    'get_goal',
    'heartbeat',
    'list_approvals',
    'list_channels',
    'list_resources',
    'list_tasks',
    'react',
    'read_channel',
    'release',
    'request_resource',
    'submit_task',
  ])
})

t.test('of many claims at once one gets the credential', async (t) => {
  const w = await spawned(t)
  const tries = await Promise.allSettled(Array.from({ length: 6 }, () => w.claim()))
  t.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
  t.equal(
    await w.count("endpoints join agents using (agent_id) where agents.name = 'docs-scanner'"),
    1,
  )
})

t.test('a claim whose answer was lost is repeated with its key, and with no other', async (t) => {
  const w = await spawned(t)
  const first = await w.claim({}, 'key')
  t.strictSame(await w.claim({}, 'key'), first)
  await t.rejects(w.claim({}, 'other'), { code: 'unauthenticated' })
  w.clock.advance(61_000)
  await t.rejects(w.claim({}, 'key'), { code: 'unauthenticated' })
})

t.test('an expired claim is answered like one that never was', async (t) => {
  const w = await spawned(t)
  const unknown = await refusal(w.claim({ claim_token: 'nonsense' }))
  w.clock.advance(86_400_000)
  t.strictSame(await refusal(w.claim()), unknown)
})

t.test('so is a used one, and that of an agent that is gone', async (t) => {
  const w = await spawned(t)
  const unknown = await refusal(w.claim({ claim_token: 'nonsense' }))
  const { agent_id } = await w.claim()
  t.strictSame(await refusal(w.claim()), unknown)
  await w.db('credential_claims').update({ claimed_at: null, endpoint_id: null, salt: null })
  await w.call(deactivateAgent, { agent_id }, { principal: w.s.ann })
  t.strictSame(await refusal(w.claim()), unknown)
})

t.test('the token is kept by its hash alone, outside of the message to the proposer', async (t) => {
  const w = await spawned(t)
  await w.claim()
  const tables = ['credential_claims', 'audit_log', 'outbox', 'approvals', 'agents', 'inbox']
  const kept = await Promise.all(tables.map((table) => w.db(table).select('*')))
  t.notMatch(JSON.stringify(kept), new RegExp(w.claim_token))
  t.notMatch(w.log_lines.join('\n'), new RegExp(w.claim_token))
})

t.test('guesses are counted by address, and those of others do no harm', async (t) => {
  const w = await spawned(t)
  for (let tried = 0; tried < LOGIN_ATTEMPTS_PER_ADDRESS; tried += 1) {
    await t.rejects(w.claim({ claim_token: `guess-${tried}` }), { code: 'unauthenticated' })
  }
  await t.rejects(w.claim(), { code: 'rate_limited' })
  await t.resolves(w.claim({ client_address: '198.51.100.7' }))
})
