import {
  inviteAgent,
  type Principal,
  REACTIONS_PER_MESSAGE_MAX,
  type Reaction,
  react,
  readChannel,
} from '@guildhall/contracts'
import t from 'tap'
import { stateOf } from '../src/reactions.ts'
import { bodies, type ChannelSetup, channelSetup } from './channel-setup.ts'
import { newUser, refusal, tableRows } from './setup.ts'

const reactAs = (s: ChannelSetup, principal: Principal, message_id: number, reaction: Reaction) =>
  s.call(react, { message_id, reaction }, { principal })

const invited = async (t: Parameters<typeof channelSetup>[0]) => {
  const s = await channelSetup(t)
  const { channel_id } = s.channel
  await s.call(inviteAgent, { channel_id, agent_id: s.clerk.agent_id }, { principal: s.ann })
  return s
}

t.test('the most telling reaction makes the state', async (t) => {
  const table: [Reaction[], string][] = [
    [[], 'proposed'],
    [['approve'], 'approved'],
    [['approve', 'in_progress'], 'in_progress'],
    [['in_progress', 'reject', 'approve'], 'rejected'],
    [['reject', 'awarded'], 'awarded'],
    [['awarded', 'done'], 'done'],
    [['done', 'published', 'reject'], 'published'],
  ]
  for (const [reactions, state] of table) {
    t.equal(stateOf(reactions.map((reaction) => ({ reaction }))), state, reactions.join('+'))
  }
})

t.test('S38 a reaction is added, and taken back by the same again', async (t) => {
  const s = await invited(t)
  const { message_id } = await s.post(s.scout, 'a plan')
  const by = `agent:${s.clerk.agent_id}`
  const at = '2030-01-01T00:00:00.000Z'

  t.strictSame(await reactAs(s, s.clerk, message_id, 'approve'), {
    action: 'added',
    reaction: 'approve',
    reactions: [{ reaction: 'approve', by, at }],
    workflow_state: 'approved',
  })
  t.match(await reactAs(s, s.ann, message_id, 'reject'), {
    action: 'added',
    workflow_state: 'rejected',
  })
  t.match(await reactAs(s, s.ann, message_id, 'reject'), {
    action: 'removed',
    workflow_state: 'approved',
  })
  t.strictSame(await reactAs(s, s.clerk, message_id, 'approve'), {
    action: 'removed',
    reaction: 'approve',
    reactions: [],
    workflow_state: 'proposed',
  })
})

t.test('S38 the second to work on it is told who does', async (t) => {
  const s = await invited(t)
  const { message_id } = await s.post(s.ann, 'who does this?')
  await reactAs(s, s.scout, message_id, 'in_progress')
  const refused = await refusal(reactAs(s, s.clerk, message_id, 'in_progress'))

  t.match(refused, {
    code: 'conflict',
    message: /^scout is on it/,
    details: { error: 'ErrAlreadyClaimed', holder_name: 'scout' },
  })
  await reactAs(s, s.scout, message_id, 'in_progress')
  t.match(await reactAs(s, s.clerk, message_id, 'in_progress'), { action: 'added' })
})

t.test('of many who take it at the same time, one has it', async (t) => {
  const s = await invited(t)
  for (let round = 0; round < 5; round += 1) {
    const { message_id } = await s.post(s.ann, `round ${round}`)
    const tries = await Promise.allSettled(
      [s.scout, s.clerk, s.ann].map((who) => reactAs(s, who, message_id, 'in_progress')),
    )
    t.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
    const rows = await tableRows(s.db, `select * from reactions where message_id = ${message_id}`)
    t.equal(rows.length, 1)
  }
})

t.test('reactions at the same time all count, and the state follows the last', async (t) => {
  const s = await invited(t)
  const { message_id } = await s.post(s.ann, 'what do you think?')
  const answers = await Promise.all([
    reactAs(s, s.scout, message_id, 'approve'),
    reactAs(s, s.clerk, message_id, 'reject'),
    reactAs(s, s.ann, message_id, 'done'),
    reactAs(s, s.ann, message_id, 'approve'),
  ])

  for (const { action } of answers) t.equal(action, 'added')
  const counts = answers.map(({ reactions }) => reactions.length).sort((a, b) => a - b)
  t.strictSame(counts, [1, 2, 3, 4], 'each saw those before it')
  const { messages } = await s.call(readChannel, { channel: 'plans' }, { principal: s.ann })
  t.equal(messages[0]!.state, 'done')
  t.equal(messages[0]!.reactions.length, 4)
})

t.test('a reaction sent again with its key is not a second toggle', async (t) => {
  const s = await invited(t)
  const { message_id } = await s.post(s.ann, 'a plan')
  const send = () =>
    s.call(
      react,
      { message_id, reaction: 'approve' },
      { principal: s.scout, idempotency_key: 'key-1' },
    )
  const first = await send()

  t.strictSame(await send(), { ...first, action: 'unchanged' })
})

t.test('messages are found by their state', async (t) => {
  const s = await invited(t)
  const states: (Reaction | undefined)[] = ['done', undefined, 'approve', 'done']
  for (const reaction of states) {
    const { message_id } = await s.post(s.ann, `as ${reaction}`)
    if (reaction !== undefined) await reactAs(s, s.scout, message_id, reaction)
  }
  const find = async (state: 'done' | 'approved' | 'proposed' | 'rejected') => {
    const { messages } = await s.call(
      readChannel,
      { channel: 'plans', state },
      { principal: s.ann },
    )
    return bodies(messages)
  }

  t.strictSame(await find('done'), ['as done', 'as done'])
  t.strictSame(await find('approved'), ['as approve'])
  t.strictSame(await find('proposed'), ['as undefined'])
  t.strictSame(await find('rejected'), [])
})

t.test('a message has a limited number of reactions', async (t) => {
  const s = await invited(t)
  const { message_id } = await s.post(s.ann, 'popular')
  await tableRows(
    s.db,
    `insert into reactions (message_id, user_id, member, reaction, at)
     select ${message_id}, ${s.ann.user_id}, 'agent:' || n, 'approve', now()
     from generate_series(1000, ${1_000 + REACTIONS_PER_MESSAGE_MAX - 1}) n`,
  )

  t.match(await refusal(reactAs(s, s.scout, message_id, 'approve')), {
    code: 'ceiling_exceeded',
    details: { error: 'ErrReactionLimit' },
  })
})

t.test('a message that the caller cannot see gets no reaction', async (t) => {
  const s = await channelSetup(t)
  const bob = await newUser(s.db, s.clock, 'bob')
  const { message_id } = await s.post(s.scout, 'between us')
  for (const principal of [s.clerk, bob]) {
    const refused = await refusal(reactAs(s, principal, message_id, 'approve'))
    t.match(refused, { code: 'not_found', message: 'there is no such message' })
    t.strictSame(await refusal(reactAs(s, principal, 99_999, 'approve')), refused)
  }
  const word = 'like' as Reaction // a client that knows no schema
  t.match(await refusal(reactAs(s, s.scout, message_id, word)), { code: 'invalid_argument' })
  t.strictSame(await tableRows(s.db, 'select * from reactions'), [])
})
