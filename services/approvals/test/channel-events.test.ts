import { applyTopology, durables } from '@guildhall/bus'
import {
  goalChanged,
  listChannels,
  type Message,
  type Notice,
  noticePosted,
  type Principal,
  readChannel,
  type TaskClaimed,
  taskClaimed,
} from '@guildhall/contracts'
import { firstTime, transaction } from '@guildhall/db'
import { startNats, waitFor } from '@guildhall/testing'
import t from 'tap'
import { onNotice, postNotice } from '../src/consumers/on-notice.ts'
import {
  bodies,
  type ChannelSetup,
  channelSetup,
  emit,
  goalEvent,
  goalRecord,
  putGoal,
} from './channel-setup.ts'
import { newUser, type Setup, setup, tableRows } from './setup.ts'

/** Ids differ between tests: they share one stream. */
let last_goal_id = Math.floor(Date.now() / 1_000)
const nextGoal = (s: ChannelSetup) => {
  last_goal_id += 1
  return goalRecord(s.ann.user_id, last_goal_id, s.scout.agent_id)
}

const read = (s: ChannelSetup, principal: Principal, channel_id: number) =>
  s.call(readChannel, { channel_id }, { principal })

const messagesIn = (s: ChannelSetup, channel: string, count: number): Promise<Message[]> =>
  waitFor(
    async () => {
      const { messages } = await s.call(readChannel, { channel }, { principal: s.ann })
      return messages.length >= count && messages
    },
    { what: `${count} messages in ${channel}` },
  )

t.test('S1 a new goal has its channel, and every change is told there', async (t) => {
  const s = await channelSetup(t)
  const goal = nextGoal(s)
  const name = `goal-${goal.slug}`
  const changes = ['created', 'activated', 'paused', 'resumed', 'stuck', 'cancelled'] as const
  for (const [i, change] of changes.entries()) {
    const event = goalEvent(goal, change, s.clock.now() + i)
    await emit(s, goalChanged.subject, event, `${goal.goal_id}-${change}`)
  }
  const messages = await messagesIn(s, name, changes.length)
  const { channel } = await read(s, s.scout, goal.channel_id)

  t.match(channel, { name, type: 'blackboard', private: true, system: true, topic: goal.title })
  t.strictSame(bodies(messages).reverse(), [
    `Goal ${goal.goal_id} was created: ${goal.title}`,
    ...changes.slice(1).map((change) => `The goal was ${change}`),
  ])
  for (const message of messages) t.match(message, { from: 'system', kind: 'system' })
  t.match(messages[0]!.metadata, { goal_id: goal.goal_id, change: 'cancelled' })
})

t.test('whoever takes a task of a goal is in its channel, even before its event', async (t) => {
  const s = await channelSetup(t)
  const goal = nextGoal(s)
  await putGoal(s, goal)
  const event: TaskClaimed = {
    v: 1,
    user_id: s.ann.user_id,
    goal_id: goal.goal_id,
    task_id: 1,
    agent_id: s.clerk.agent_id,
    at: s.clock.now(),
  }
  await emit(s, taskClaimed.subject, event, `claimed-${goal.goal_id}`)
  const channel = await waitFor(
    async () => {
      const { channels } = await s.call(listChannels, {}, { principal: s.clerk })
      return channels.find(({ goal_id }) => goal_id === goal.goal_id)
    },
    { what: 'the clerk to be in the channel' },
  )

  t.match(channel, { channel_id: goal.channel_id, role: 'member' })
  t.match(await read(s, s.scout, goal.channel_id), { messages: [] })
})

const notice = (s: Setup, to: Notice['to'], body: string): Notice => ({
  v: 1,
  user_id: s.ann.user_id,
  to,
  body,
  metadata: { task_id: 7 },
  at: s.clock.now(),
})

t.test('notices of any service are posted where they are looked for', async (t) => {
  const s = await channelSetup(t)
  const goal = nextGoal(s)
  await putGoal(s, goal)
  const { goal_id } = goal
  const agent_id = s.clerk.agent_id
  const sent = [
    ['tasks', notice(s, { kind: 'goal', goal_id }, '80 % of the budget is spent')],
    ['reputation', notice(s, { kind: 'owner' }, 'scout is quarantined')],
    ['secrets', notice(s, { kind: 'agent', agent_id }, 'BREVO_API_KEY is now available')],
  ] as const
  for (const [service, event] of sent) {
    await emit(s, noticePosted(service).subject, event, `${service}-${goal_id}`)
  }
  const [in_goal] = await messagesIn(s, `goal-${goal.slug}`, 1)
  const [in_inbox] = await messagesIn(s, 'inbox', 1)
  const [direct] = await messagesIn(s, `dm-${agent_id}`, 1)

  t.match(in_goal, { kind: 'system', from: 'system', metadata: { task_id: 7 } })
  t.match(in_inbox, { kind: 'notice', body: 'scout is quarantined' })
  t.match(direct, { kind: 'notice', body: 'BREVO_API_KEY is now available' })
  const clerks = await read(s, s.clerk, direct!.channel_id)
  t.strictSame(clerks.messages, [direct])
  t.equal(clerks.channel.unread, 1)
})

t.test('S39 an event that comes again, or after a crash, is one message', async (t) => {
  const nats = await startNats()
  t.teardown(() => nats.kill())
  const s = await setup(t, { nats, start: false })
  const { subject } = noticePosted('tasks')
  const stored = () => tableRows(s.db, 'select body from messages order by message_id')
  const until = (count: number) =>
    waitFor(async () => (await stored()).length >= count, { what: `${count} messages` })
  const once = notice(s, { kind: 'owner' }, 'only once')
  // Died between effect and commit: nothing of it remains, the message included.
  const died = transaction(s.db, async (trx) => {
    await firstTime(trx, durables.approvalsNotices, 'event-1')
    await postNotice(trx, s.deps, once)
    throw new Error('the process is gone')
  })
  await t.rejects(died, { message: /is gone/ })
  t.strictSame(await stored(), [])

  const events = { deps: s.deps, bus: s.bus, log: s.bus.log }
  const before = onNotice(events)
  await before.start()
  await emit(s, subject, once, 'event-1')
  await until(1)
  await before.stop()
  // A consumer that forgot where it was hands out everything once more.
  await s.bus.jsm.consumers.delete('EVENTS', durables.approvalsNotices)
  await applyTopology(s.bus)
  const after = onNotice(events)
  t.teardown(() => after.stop())
  await after.start()
  await emit(s, subject, notice(s, { kind: 'owner' }, 'after it'), 'event-2')
  await until(2)

  const { delivered } = await s.bus.jsm.consumers.info('EVENTS', durables.approvalsNotices)
  t.equal(delivered.consumer_seq, 2, 'the first one was handed out again')
  t.strictSame(await stored(), [{ body: 'only once' }, { body: 'after it' }])
})

t.test('a notice to an agent of somebody else is not posted, and holds up nobody', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { subject } = noticePosted('tasks')
  last_goal_id += 1
  const foreign = {
    ...notice(s, { kind: 'agent', agent_id: s.scout.agent_id }, 'for somebody else'),
    user_id: bob.user_id,
  }
  await emit(s, subject, foreign, `foreign-${last_goal_id}`)
  await emit(s, subject, { v: 2, body: 'of an unknown form' }, `form-${last_goal_id}`)
  await emit(s, subject, notice(s, { kind: 'owner' }, 'after it'), `after-${last_goal_id}`)
  const messages = await messagesIn(s, 'inbox', 1)

  t.strictSame(bodies(messages), ['after it'])
  t.strictSame(await tableRows(s.db, 'select body from messages'), [{ body: 'after it' }])
  const dead = s.log_lines.filter((line) => line.includes('message is a dead letter'))
  t.equal(dead.length, 2)
})
