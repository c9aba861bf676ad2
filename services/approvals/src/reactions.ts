import {
  type Message,
  namedError,
  REACTIONS_PER_MESSAGE_MAX,
  type Reaction,
  type WorkflowState,
  workflowStates,
} from '@guildhall/contracts'
import type { Trx } from '@guildhall/db'
import { findAgent } from './store/agents.ts'
import {
  deleteReaction,
  listReactions,
  lockMessage,
  putReaction,
  type ReactionKey,
  setMessageState,
} from './store/reactions.ts'

/** Reactions of one message, each change under its lock, so that its state always follows them. */

type Reactions = Message['reactions']

export const stateOf = (reactions: readonly { readonly reaction: Reaction }[]): WorkflowState => {
  const present = new Set(reactions.map(({ reaction }) => reaction))
  return workflowStates.find(([reaction]) => present.has(reaction))?.[1] ?? 'proposed'
}

export interface Reacted {
  readonly action: 'added' | 'removed' | 'unchanged'
  readonly reaction: Reaction
  readonly reactions: Reactions
  readonly workflow_state: WorkflowState
}

/** What is there now, as the answer to a reaction. */
export const reactedIn = async (
  trx: Trx,
  { user_id, message_id, reaction }: ReactionKey,
  action: Reacted['action'],
): Promise<Reacted> => {
  const reactions = await listReactions(trx, { user_id, message_id })
  const workflow_state = stateOf(reactions)
  if (action !== 'unchanged') await setMessageState(trx, { user_id, message_id }, workflow_state)
  return { action, reaction, reactions, workflow_state }
}

const heldBy = async (trx: Trx, user_id: number, member: string): Promise<Error> => {
  const agent_id = member.startsWith('agent:') ? Number(member.slice('agent:'.length)) : undefined
  const agent = agent_id === undefined ? undefined : await findAgent(trx, { user_id, agent_id })
  const name = agent?.name ?? 'the owner'
  return namedError('ErrAlreadyClaimed', `${name} is on it already`, {
    what_to_do: 'Take another one, or wait until this is given up.',
    details: { holder: member, holder_name: name },
  })
}

/** Adds the reaction, or takes it back when it is there. */
export const toggleReactionIn = async (trx: Trx, key: ReactionKey, at: Date): Promise<Reacted> => {
  await lockMessage(trx, key)
  if (await deleteReaction(trx, key)) return await reactedIn(trx, key, 'removed')
  const present = await listReactions(trx, key)
  const holder = present.find(({ reaction }) => reaction === 'in_progress')
  if (key.reaction === 'in_progress' && holder !== undefined) {
    throw await heldBy(trx, key.user_id, holder.by)
  }
  if (present.length >= REACTIONS_PER_MESSAGE_MAX) {
    throw namedError(
      'ErrReactionLimit',
      `a message has at most ${REACTIONS_PER_MESSAGE_MAX} reactions`,
    )
  }
  await putReaction(trx, key, at)
  return await reactedIn(trx, key, 'added')
}

interface ShownDecision {
  readonly user_id: number
  readonly message_id: number
  readonly decision: 'approve' | 'reject'
}

const reactionOfOwner = ({ user_id, message_id, decision }: ShownDecision): ReactionKey => ({
  user_id,
  message_id,
  member: `human:${user_id}`,
  reaction: decision,
})

/**
 * Shows the owner's decision on the message that asked for it, by whichever door it came. The
 * approval is changed first and the message second, always, so that no two decisions wait for
 * each other.
 */
export const showDecisionIn = async (
  trx: Trx,
  decision: ShownDecision,
  at: Date,
): Promise<void> => {
  const key = reactionOfOwner(decision)
  await lockMessage(trx, key)
  await putReaction(trx, key, at)
  await reactedIn(trx, key, 'added')
}

/** For an approval that is pending again, since it could not be carried out. */
export const withdrawDecisionIn = async (trx: Trx, decision: ShownDecision): Promise<void> => {
  const key = reactionOfOwner(decision)
  await lockMessage(trx, key)
  if (await deleteReaction(trx, key)) await reactedIn(trx, key, 'removed')
}
