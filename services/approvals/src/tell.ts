import type { Trx } from '@guildhall/db'
import type { Call } from './call.ts'
import { directChannelIn, type Posted, postMessageIn, systemChannelIn } from './messages.ts'

/** What the system says of its own accord, to an agent or to the owner. */

interface Telling {
  readonly body: string
  /** Ids and states for programs that read along. */
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly approval_id?: number
}

type Occasion = Pick<Call, 'user_id' | 'now'>

const post = (
  trx: Trx,
  { user_id, now }: Occasion,
  channel_id: number,
  {
    approval_id = null,
    ...telling
  }: Omit<Telling, 'approval_id'> & {
    readonly approval_id?: number | null
  },
): Promise<Posted> =>
  postMessageIn(trx, {
    ...telling,
    user_id,
    channel_id,
    from: 'system',
    kind: 'notice',
    // A reaction to a notice decides nothing, so it names the approval only for programs.
    metadata: { ...telling.metadata, ...(approval_id === null ? {} : { approval_id }) },
    at: now,
  })

export const tellAgentIn = async (
  trx: Trx,
  occasion: Occasion,
  agent_id: number,
  telling: Telling,
): Promise<void> => {
  const { user_id, now } = occasion
  await post(trx, occasion, await directChannelIn(trx, user_id, agent_id, now), telling)
}

export const tellOwnerIn = async (
  trx: Trx,
  occasion: Occasion,
  telling: Telling,
): Promise<void> => {
  const { user_id, now } = occasion
  await post(trx, occasion, await systemChannelIn(trx, user_id, 'inbox', now), telling)
}
