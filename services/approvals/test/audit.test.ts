import {
  createChannel,
  editEndpoint,
  inviteAgent,
  listAudit,
  postMessage,
  react,
  readChannel,
  revokeEndpoint,
  setPassword,
} from '@guildhall/contracts'
import t from 'tap'
import { verifyAudit } from '../src/audit-chain.ts'
import { channelSetup } from './channel-setup.ts'
import { newUser, refusal, tableRows } from './setup.ts'

t.test('S40 filtered by agent, the log holds what that agent did and nothing else', async (t) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  await s.call(inviteAgent, { channel_id, agent_id: s.clerk.agent_id }, { principal: s.ann })
  const mine = await s.post(s.scout, 'by scout')
  const theirs = await s.post(s.clerk, 'by clerk')
  const { message_id } = theirs
  await s.call(react, { message_id, reaction: 'approve' }, { principal: s.scout })
  const by = async (actor: string) => {
    const { entries } = await s.call(listAudit, { actor }, { principal: s.ann })
    return entries.map(({ action, object }) => [action, object])
  }

  t.strictSame(await by(`agent:${s.scout.agent_id}`), [
    ['reaction.added', `message:${message_id}`],
    ['message.posted', `message:${mine.message_id}`],
  ])
  t.strictSame(await by(`agent:${s.clerk.agent_id}`), [['message.posted', `message:${message_id}`]])
  t.strictSame(await by('agent:999'), [])
  t.strictSame(await by('\u0000'), [])
})

t.test('the log is read by action and time, in pages, and by its owner alone', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  for (const body of ['one', 'two', 'three']) {
    s.clock.advance(60_000)
    await s.post(s.scout, body)
  }
  const list = async (input: object) => {
    const { entries, next_cursor } = await s.call(
      listAudit,
      { action: 'message.posted', ...input },
      { principal: s.ann },
    )
    return { at: entries.map(({ at }) => at.slice(11, 16)), entries, next_cursor }
  }
  const first = await list({ limit: 2 })
  await s.post(s.scout, 'four')
  const second = await list({ limit: 2, cursor: first.next_cursor })

  t.strictSame(first.at, ['00:03', '00:02'])
  t.strictSame(second.at, ['00:01'])
  t.equal(second.next_cursor, undefined)
  t.match(first.entries[0], { hash: /^[0-9a-f]{64}$/, details: { kind: 'text' } })
  const until = '2030-01-01T00:03:00Z'
  t.strictSame((await list({ since: '2030-01-01T00:02:00Z', until })).at, ['00:02'])
  t.strictSame(await s.call(listAudit, {}, { principal: bob }), { entries: [] })
  t.match(await refusal(s.call(listAudit, {}, { principal: s.scout })), { code: 'forbidden' })
  t.match(await refusal(list({ cursor: 'x' })), { code: 'invalid_argument' })
})

t.test('a refused write is on record after its rollback: who, what kind, which ids', async (t) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  const agent_id = s.clerk.agent_id
  const outsider = { channel_id, body: 'the secret is hunter2' }
  await refusal(s.call(postMessage, outsider, { principal: s.clerk }))
  await refusal(s.call(inviteAgent, { channel_id, agent_id }, { principal: s.scout }))
  await refusal(s.call(createChannel, { name: 'plans' }, { principal: s.ann }))
  await refusal(s.call(revokeEndpoint, { endpoint_id: 'hunter2' }, { principal: s.ann }))
  const { endpoint_id } = s.clerk
  await s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })
  await refusal(s.call(editEndpoint, { endpoint_id, name: 'x' }, { principal: s.ann }))
  const rows = await tableRows(
    s.db,
    `select actor, action, object, details from audit_log where action like '%.refused'
     order by seq`,
  )

  const ann = `human:${s.ann.user_id}`
  t.strictSame(rows, [
    {
      actor: `agent:${agent_id}`,
      action: 'post_message.refused',
      object: `channel:${channel_id}`,
      details: { code: 'not_found', error: 'ErrNotMember', channel_id },
    },
    {
      actor: `agent:${s.scout.agent_id}`,
      action: 'invite_agent.refused',
      object: `channel:${channel_id}`,
      details: { code: 'forbidden', channel_id, agent_id },
    },
    {
      actor: ann,
      action: 'create_channel.refused',
      object: '-',
      details: { code: 'conflict' },
    },
    {
      actor: ann,
      action: 'revoke_endpoint.refused',
      object: '-',
      details: { code: 'not_found' },
    },
    {
      actor: ann,
      action: 'edit_endpoint.refused',
      object: `endpoint:${endpoint_id}`,
      details: { code: 'conflict', endpoint_id },
    },
  ])
  t.match(await verifyAudit(s.db), { broken: null })
})

t.test(
  'neither reads, nor bad input, nor a wrong password leave more than they should',
  async (t) => {
    const s = await channelSetup(t)
    const before = await tableRows(s.db, 'select * from audit_log')
    await refusal(s.call(readChannel, { channel_id: 999 }, { principal: s.scout }))
    await refusal(s.call(createChannel, { name: 'Not A Name' }, { principal: s.ann }))
    t.strictSame(await tableRows(s.db, 'select * from audit_log'), before)

    await s.call(setPassword, { password: 'a long first password' }, { principal: s.ann })
    const change = {
      password: 'another long password',
      current_password: 'not the first password',
    }
    t.match(await refusal(s.call(setPassword, change, { principal: s.ann })), { code: 'forbidden' })
    const [last] = await tableRows(s.db, 'select * from audit_log order by audit_id desc limit 1')
    t.match(last, { action: 'set_password.refused', details: { code: 'forbidden' } })
    const everything = JSON.stringify(await tableRows(s.db, 'select * from audit_log'))
    t.notMatch(everything, /password":|long|not the first/)
  },
)

t.test('a refusal is told to its caller even when it cannot be recorded', async (t) => {
  const s = await channelSetup(t)
  await s.db.raw('alter table audit_log rename to audit_log_away')
  const answer = await refusal(s.post(s.clerk, 'let me in'))

  t.match(answer, { code: 'not_found' })
  t.match(s.log_lines.join('\n'), /a refusal could not be recorded/)
})
