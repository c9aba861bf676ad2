import type { Handler } from '@guildhall/bus'
import {
  type InputOf,
  type Message,
  type MessageKind,
  namedError,
  type Principal,
  react,
  ServiceError,
} from '@guildhall/contracts'
import { type Trx, transaction } from '@guildhall/db'
import { audit, type Call, callOf, claimCall } from '../call.ts'
import { viewerOf } from '../channels.ts'
import { type Decided, decideIn } from '../decide.ts'
import type { Deps } from '../deps.ts'
import { noSuchMessage } from '../messages.ts'
import { type Reacted, reactedIn, toggleReactionIn } from '../reactions.ts'
import { findApproval } from '../store/approvals.ts'
import { viewChannel } from '../store/channel-views.ts'
import { findMessage } from '../store/messages.ts'
import type { ReactionKey } from '../store/reactions.ts'

interface Outcome {
  readonly reacted: Reacted
  /** Now or by an earlier call, whose answer may have failed before its change was in force. */
  readonly decided: boolean
  /** To be thrown after the commit: the reason of the failure must stay. */
  readonly refused?: ServiceError
}

const isDecidedAlready = (error: unknown): boolean =>
  error instanceof ServiceError && error.details?.error === 'ErrAlreadyDecided'

type Verdict = 'approve' | 'reject'

/** Messages that ask; others may only tell of the same approval. */
const QUESTIONS: ReadonlySet<MessageKind> = new Set([
  'task_proposal',
  'agent_proposal',
  'resource_request',
  'action_request',
])

const verdictOn = (
  { approval_id, kind }: Message,
  { reaction }: InputOf<typeof react>,
): { approval_id: number; decision: Verdict } | undefined =>
  approval_id !== null && QUESTIONS.has(kind) && (reaction === 'approve' || reaction === 'reject')
    ? { approval_id, decision: reaction }
    : undefined

/** On what an agent asked for, only the owner's word decides; an agent's does not even count. */
const refuseAgent = (principal: Principal): void => {
  if (principal.kind === 'human') return
  throw namedError('ErrNotPermitted', 'only the owner approves or rejects a proposal', {
    what_to_do: 'Wait for the decision of your owner.',
  })
}

/**
 * A call repeated for want of an answer is not a second decision: not even when what the first one
 * approved came to nothing meanwhile, and the approval waits for a new one.
 */
const isRepeated = async (trx: Trx, call: Call, approval_id: number): Promise<boolean> => {
  const { repeat } = await claimCall(trx, call, String(approval_id))
  if (!repeat) return false
  const approval = await findApproval(trx, { user_id: call.user_id, approval_id })
  // Pending and never decided: the first call was refused, and may be tried again.
  return approval?.round !== 0
}

/** The first word stands: whatever comes after it answers what is there, and changes nothing. */
const decideByReaction = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  key: ReactionKey,
  decision: { approval_id: number; decision: Verdict; reason: string | undefined },
): Promise<Outcome> => {
  let decided: Decided | undefined
  try {
    const repeated = await isRepeated(trx, call, decision.approval_id)
    decided = repeated ? undefined : await decideIn(trx, deps, call, decision)
  } catch (error) {
    if (!isDecidedAlready(error)) throw error
  }
  if (decided === undefined) {
    return { reacted: await reactedIn(trx, key, 'unchanged'), decided: true }
  }
  const { refused } = decided
  if (refused !== undefined) {
    return { reacted: await reactedIn(trx, key, 'unchanged'), decided: true, refused }
  }
  // The decision itself put the reaction there, as it does by whichever door it comes.
  return { reacted: await reactedIn(trx, key, 'added'), decided: true }
}

const reactIn = async (
  trx: Trx,
  deps: Deps,
  call: Call,
  principal: Principal,
  input: InputOf<typeof react>,
): Promise<Outcome> => {
  const viewer = viewerOf(principal)
  const { message_id, reaction } = input
  const message = await findMessage(trx, { user_id: call.user_id, message_id })
  if (message === undefined) throw noSuchMessage()
  const verdict = verdictOn(message, input)
  if (verdict !== undefined) refuseAgent(principal)
  const { channel_id } = message
  if ((await viewChannel(trx, viewer, { channel_id })) === undefined) throw noSuchMessage()
  const key = { ...viewer, message_id, reaction }
  if (verdict !== undefined) {
    const reason = input.metadata?.reason
    return await decideByReaction(trx, deps, call, key, { ...verdict, reason })
  }
  // A toggle repeated for want of an answer would undo itself; a decision is taken once anyway.
  const { repeat } = await claimCall(trx, call, String(message_id))
  if (repeat) return { reacted: await reactedIn(trx, key, 'unchanged'), decided: false }
  const reacted = await toggleReactionIn(trx, key, call.now)
  await audit(trx, call, `reaction.${reacted.action}`, `message:${message_id}`, { reaction })
  return { reacted, decided: false }
}

export const handleReact =
  (deps: Deps): Handler<typeof react> =>
  async (ctx, input) => {
    const call = callOf(deps, ctx, react, input)
    const { reacted, decided, refused } = await transaction(deps.db, (trx) =>
      reactIn(trx, deps, call, ctx.principal, input),
    )
    if (decided) await deps.settle()
    if (refused !== undefined) throw refused
    return reacted
  }
