import { goalChannelId } from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import t from 'tap'
import {
  directChannelIn,
  goalChannelIn,
  postMessageIn,
  type SystemChannelName,
  systemChannelIn,
} from '../src/messages.ts'
import { newUser, refusal, type Setup, setup, tableRows } from './setup.ts'

const at = new Date(Date.UTC(2030, 0, 1))

const membersOf = (s: Setup, channel_id: number) =>
  tableRows(
    s.db,
    `select member, role from channel_members where channel_id = ${channel_id} order by member`,
  )

const systemChannel = (s: Setup, name: SystemChannelName): Promise<number> =>
  transaction(s.db, (trx) => systemChannelIn(trx, s.ann.user_id, name, at))

t.test('a system channel is made once, by many at once, with an odd id', async (t) => {
  const s = await setup(t, { start: false })
  const ids = await Promise.all(Array.from({ length: 8 }, () => systemChannel(s, 'approvals')))
  const other = await systemChannel(s, 'inbox')

  t.equal(new Set(ids).size, 1)
  t.equal(ids[0]! % 2, 1)
  t.equal(other % 2, 1)
  t.strictSame(await membersOf(s, ids[0]!), [{ member: `human:${s.ann.user_id}`, role: 'owner' }])
})

t.test('S1 a goal has a private channel of its owner and its coordinator', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const goal = {
    user_id: s.ann.user_id,
    goal_id: 7,
    slug: 'keep-docs-mcpproxy-app-accurate',
    title: 'Keep docs.mcpproxy.app accurate',
    coordinator_agent_id: endpoint.agent_id,
  }
  const made = await transaction(s.db, (trx) => goalChannelIn(trx, goal, at))
  const again = await transaction(s.db, (trx) => goalChannelIn(trx, goal, at))

  t.equal(made, goalChannelId(7))
  t.equal(again, made)
  const [row] = await tableRows(s.db, 'select * from channels where goal_id = 7')
  t.match(row, {
    name: 'goal-keep-docs-mcpproxy-app-accurate',
    type: 'blackboard',
    private: true,
    system: true,
    topic: goal.title,
  })
  t.strictSame(await membersOf(s, made), [
    { member: `agent:${endpoint.agent_id}`, role: 'member' },
    { member: `human:${s.ann.user_id}`, role: 'owner' },
  ])
})

t.test('a message with what cannot be stored is stored without it', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { user_id } = s.ann
  const { message_id } = await transaction(s.db, async (trx) => {
    const channel_id = await directChannelIn(trx, user_id, endpoint.agent_id, at)
    return await postMessageIn(trx, {
      user_id,
      channel_id,
      from: 'system',
      kind: 'notice',
      body: 'a\u0000b \ud800 <b>\t',
      metadata: { 'k\u0000': ['\udfff', { deep: '\u0000' }] },
      at,
    })
  })

  const [row] = await tableRows(s.db, `select body, metadata, state from messages`)
  t.ok(message_id > 0)
  t.strictSame(row, {
    body: 'ab \ufffd <b>\t',
    metadata: { k: ['\ufffd', { deep: '' }] },
    state: 'proposed',
  })
})

t.test('nothing is posted to the channel of another person', async (t) => {
  const s = await setup(t, { start: false })
  const bob = await newUser(s.db, s.clock, 'bob')
  const channel_id = await systemChannel(s, 'inbox')
  const post = transaction(s.db, (trx) =>
    postMessageIn(trx, {
      user_id: bob.user_id,
      channel_id,
      from: 'system',
      kind: 'system',
      body: 'hello',
      at,
    }),
  )

  t.match(await refusal(post), { code: 'not_found' })
  t.strictSame(await tableRows(s.db, 'select * from messages'), [])
})
