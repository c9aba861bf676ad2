import {
  createChannel,
  inviteAgent,
  listChannels,
  markRead,
  postMessage,
  readChannel,
  removeAgent,
} from '@guildhall/contracts'
import { transaction } from '@guildhall/db'
import t from 'tap'
import { directChannelIn, goalChannelIn, systemChannelIn } from '../src/messages.ts'
import { bodies, channelSetup, goalRecord, putGoal } from './channel-setup.ts'
import { newUser, refusal, tableRows } from './setup.ts'

t.test('S37 an outsider can neither read, post to, nor see a private channel', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { channel_id } = s.channel
  await s.post(s.scout, 'between us')
  for (const principal of [s.clerk, bob]) {
    const unknown = await refusal(s.call(readChannel, { channel_id: 999 }, { principal }))
    t.match(unknown, { code: 'not_found', details: { error: 'ErrNotMember' } })
    t.strictSame(await refusal(s.call(readChannel, { channel_id }, { principal })), unknown)
    t.strictSame(await refusal(s.call(readChannel, { channel: 'plans' }, { principal })), unknown)
    t.strictSame(await refusal(s.post(principal, 'let me in')), unknown)
    const mark = { channel_id, message_id: 1 }
    t.strictSame(await refusal(s.call(markRead, mark, { principal })), unknown)
    t.strictSame(await s.call(listChannels, {}, { principal }), { channels: [] })
  }
  const seen = await s.call(readChannel, { channel_id }, { principal: s.ann })
  t.strictSame(bodies(seen.messages), ['between us'])
})

t.test('S37 a member can neither invite nor remove; the owner can', async (t) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  const clerk = { channel_id, agent_id: s.clerk.agent_id }
  for (const op of [inviteAgent, removeAgent]) {
    t.match(await refusal(s.call(op, clerk, { principal: s.scout })), { code: 'forbidden' })
  }
  for (const repeat of [1, 2]) {
    const invited = await s.call(inviteAgent, clerk, { principal: s.ann })
    t.strictSame(invited, { ...clerk, member: true }, `try ${repeat}`)
  }
  await s.post(s.clerk, 'thank you')
  for (const repeat of [1, 2]) {
    const removed = await s.call(removeAgent, clerk, { principal: s.ann })
    t.strictSame(removed, { ...clerk, member: false }, `try ${repeat}`)
  }
  t.match(await refusal(s.post(s.clerk, 'hello?')), { code: 'not_found' })
})

t.test('an agent or channel of another person cannot be put together', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const his = await s.call(createChannel, { name: 'plans' }, { principal: bob })
  const { agent_id } = s.clerk
  const foreign_agent = { channel_id: his.channel_id, agent_id }
  const foreign_channel = { channel_id: s.channel.channel_id, agent_id }
  for (const op of [inviteAgent, removeAgent]) {
    t.match(await refusal(s.call(op, foreign_agent, { principal: bob })), {
      code: 'not_found',
      message: 'there is no such agent',
    })
    t.match(await refusal(s.call(op, foreign_channel, { principal: bob })), {
      code: 'not_found',
      message: 'there is no such channel',
    })
  }
})

t.test('a channel is read newest first, in pages, without gaps or repeats', async (t) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  for (let i = 1; i <= 5; i += 1) await s.post(s.scout, `message ${i}`)
  const first = await s.call(readChannel, { channel_id, limit: 2 }, { principal: s.ann })
  await s.post(s.scout, 'message 6')
  const second = await s.call(
    readChannel,
    { channel_id, limit: 3, cursor: first.next_cursor! },
    { principal: s.ann },
  )

  t.strictSame(bodies(first.messages), ['message 5', 'message 4'])
  t.strictSame(bodies(second.messages), ['message 3', 'message 2', 'message 1'])
  t.equal(second.next_cursor, undefined)
  for (const cursor of ['x', '0', '-1', '1e3', '99999999999999999']) {
    const read = s.call(readChannel, { channel_id, cursor }, { principal: s.ann })
    t.match(await refusal(read), { code: 'invalid_argument' })
  }
})

t.test('channels are listed in pages, and name the caller in its role', async (t) => {
  const s = await channelSetup(t)
  const second = await s.call(
    createChannel,
    { name: 'open', topic: 'for all', private: false },
    { principal: s.ann },
  )
  const page = await s.call(listChannels, { limit: 1 }, { principal: s.ann })
  const rest = await s.call(listChannels, { cursor: page.next_cursor! }, { principal: s.ann })

  t.strictSame(page.channels, [second])
  t.strictSame(rest, { channels: [s.channel] })
  t.match(second, { role: 'owner', private: false, system: false, topic: 'for all', unread: 0 })
  const clerks = await s.call(listChannels, {}, { principal: s.clerk })
  t.strictSame(clerks.channels, [{ ...second, role: 'member' }], 'a public one is for all agents')
})

t.test('what others wrote is unread until it is marked as read, which only moves on', async (t) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  const first = await s.post(s.scout, 'one')
  const second = await s.post(s.scout, 'two')
  await s.post(s.ann, 'mine')
  const unread = async () =>
    (await s.call(readChannel, { channel_id }, { principal: s.ann })).channel.unread
  const mark = (message_id: number) =>
    s.call(markRead, { channel_id, message_id }, { principal: s.ann })

  t.equal(await unread(), 2)
  t.strictSame(await mark(first.message_id), { channel_id, unread: 1 })
  t.strictSame(await mark(second.message_id), { channel_id, unread: 0 })
  t.strictSame(await mark(first.message_id), { channel_id, unread: 0 }, 'not back')
  t.match(await refusal(mark(9_999)), { code: 'not_found', message: 'there is no such message' })
})

t.test('whoever posts to a public channel is in it, with what they have read', async (t) => {
  const s = await channelSetup(t)
  const open = await s.call(createChannel, { name: 'open', private: false }, { principal: s.ann })
  const { channel_id } = open
  const hello = await s.post(s.ann, 'hello', open)
  await s.post(s.clerk, 'hi', open)
  const marked = await s.call(
    markRead,
    { channel_id, message_id: hello.message_id },
    { principal: s.clerk },
  )

  t.strictSame(marked, { channel_id, unread: 0 })
  const remove = s.call(
    removeAgent,
    { channel_id, agent_id: s.clerk.agent_id },
    { principal: s.ann },
  )
  t.match(await refusal(remove), { code: 'conflict' })
})

t.test('names of channels are unique, and those of the system are taken', async (t) => {
  const s = await channelSetup(t)
  const create = (name: string, key?: string) =>
    s.call(createChannel, { name }, { principal: s.ann, idempotency_key: key })
  for (const name of ['plans', 'approvals', 'requests', 'inbox']) {
    t.match(await refusal(create(name)), { code: 'conflict' }, name)
  }
  for (const name of ['dm-1', 'goal-x']) {
    t.match(await refusal(create(name)), { code: 'invalid_argument' }, name)
  }
  const made = await create('once', 'key-1')
  t.strictSame(await create('once', 'key-1'), made, 'a repeat answers as the first call did')
  t.equal(made.channel_id % 2, 1)
})

t.test('system channels stay as they are, but for those who work on a goal', async (t) => {
  const s = await channelSetup(t)
  const { user_id } = s.ann
  const at = new Date(s.clock.now())
  const goal = goalRecord(user_id, 5, s.scout.agent_id)
  const [inbox, direct, blackboard] = await transaction(s.db, async (trx) => [
    await systemChannelIn(trx, user_id, 'inbox', at),
    await directChannelIn(trx, user_id, s.scout.agent_id, at),
    await goalChannelIn(trx, goal, at),
  ])
  const change = (op: typeof inviteAgent | typeof removeAgent, id: number, agent_id: number) =>
    s.call(op, { channel_id: id, agent_id }, { principal: s.ann })
  const stays = { code: 'conflict', details: { error: 'ErrSystemChannel' } }
  for (const id of [inbox!, direct!]) {
    for (const { agent_id } of [s.scout, s.clerk]) {
      t.match(await refusal(change(inviteAgent, id, agent_id)), stays)
      t.match(await refusal(change(removeAgent, id, agent_id)), stays)
    }
  }
  t.match(await refusal(change(removeAgent, blackboard!, s.scout.agent_id)), stays)
  t.match(await change(inviteAgent, blackboard!, s.clerk.agent_id), { member: true })
  t.match(await change(removeAgent, blackboard!, s.clerk.agent_id), { member: false })
})

t.test('S1 the channel of a goal is there for whoever was told its id', async (t) => {
  const s = await channelSetup(t)
  const goal = goalRecord(s.ann.user_id, 21, s.scout.agent_id)
  const { channel_id } = goal
  t.match(await refusal(s.call(readChannel, { channel_id }, { principal: s.ann })), {
    code: 'not_found',
  })
  await putGoal(s, goal)
  const posts = await Promise.all(
    [s.ann, s.scout].map((principal) =>
      s.call(postMessage, { channel_id, body: 'first' }, { principal }),
    ),
  )
  const { channel } = await s.call(readChannel, { channel_id }, { principal: s.scout })

  t.equal(posts.length, 2)
  t.match(channel, {
    channel_id: 42,
    name: 'goal-goal-number-21',
    type: 'blackboard',
    private: true,
    system: true,
    topic: 'Goal number 21',
    goal_id: 21,
    role: 'member',
  })
  t.match(await refusal(s.call(readChannel, { channel_id }, { principal: s.clerk })), {
    code: 'not_found',
  })
})

t.test('the goal of another person opens no channel', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const goal = goalRecord(s.ann.user_id, 22, s.scout.agent_id)
  await putGoal(s, goal)
  const { channel_id } = goal

  t.match(await refusal(s.call(readChannel, { channel_id }, { principal: bob })), {
    code: 'not_found',
  })
  t.strictSame(await tableRows(s.db, 'select * from channels where goal_id = 22'), [])
})
