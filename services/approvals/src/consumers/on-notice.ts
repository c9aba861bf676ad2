import { durables } from '@guildhall/bus'
import { Notice } from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import type { Part } from '@guildhall/runtime'
import { goalChannelOfIn } from '../channels.ts'
import type { Deps } from '../deps.ts'
import { directChannelIn, noSuchAgent, postMessageIn, systemChannelIn } from '../messages.ts'
import { findAgent } from '../store/agents.ts'
import { type EventDeps, eachOnce } from './each-once.ts'

const channelFor = async (
  trx: Trx,
  { records }: Deps,
  { to, user_id }: Notice,
  at: Date,
): Promise<number> => {
  switch (to.kind) {
    case 'goal':
      return await goalChannelOfIn(trx, records, user_id, to.goal_id, at)
    case 'owner':
      return await systemChannelIn(trx, user_id, 'inbox', at)
    case 'agent':
      if ((await findAgent(trx, { user_id, agent_id: to.agent_id })) === undefined) {
        throw noSuchAgent()
      }
      return await directChannelIn(trx, user_id, to.agent_id, at)
  }
}

/** What another service has to say to somebody, posted where they look. */
export const postNotice = async (trx: Trx, deps: Deps, notice: Notice): Promise<void> => {
  const { user_id, to, body, metadata } = notice
  const at = new Date(notice.at)
  await postMessageIn(trx, {
    user_id,
    channel_id: await channelFor(trx, deps, notice, at),
    from: 'system',
    kind: to.kind === 'goal' ? 'system' : 'notice',
    body,
    metadata,
    at,
  })
}

export const onNotice = (events: EventDeps): Part =>
  eachOnce(events, {
    durable: durables.approvalsNotices,
    schema: Notice,
    apply: (trx, notice) => postNotice(trx, events.deps, notice),
  })
