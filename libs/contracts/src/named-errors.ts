import { type ErrorCode, ServiceError } from './errors.ts'

/**
 * Errors of goals, agents and secrets that clients know by name. The name stands in
 * `details.error`; the code is one of the one table.
 */

interface NamedError {
  readonly code: ErrorCode
  readonly what_to_do: string
}

export const namedErrors = {
  ErrGoalNotFound: { code: 'not_found', what_to_do: 'Check goal_id. It is unknown, or not yours.' },
  ErrTaskNotFound: { code: 'not_found', what_to_do: 'Check task_id. It is unknown, or not yours.' },
  ErrNotPermitted: {
    code: 'forbidden',
    what_to_do: 'Leave this to the agent or owner that the message names.',
  },
  ErrIllegalTransition: {
    code: 'conflict',
    what_to_do: 'Read the present state first; from there this step is not possible.',
  },
  ErrUnknownTemplate: {
    code: 'invalid_argument',
    what_to_do: 'Omit coordinator_config, use "self", or name a template that the owner has made.',
  },
  ErrProposalPending: {
    code: 'conflict',
    what_to_do: 'Wait for the decision on the pending proposal, or cancel it with cancel_approval.',
  },
  ErrAncestryOverflow: {
    code: 'invalid_argument',
    what_to_do: 'Shorten titles and acceptance criteria along the path, or make the tree flatter.',
  },
  ErrBudgetInsufficient: {
    code: 'budget_exceeded',
    what_to_do: 'Give the subtasks smaller budgets, so that together they fit into their parent.',
  },
  ErrGoalBudgetExceeded: {
    code: 'budget_exceeded',
    what_to_do: 'Start nothing more for this goal until its owner has raised the budget.',
  },
  ErrGoalNotActive: {
    code: 'conflict',
    what_to_do: 'Wait until the goal is active again; its owner can resume it.',
  },
  ErrAlreadyClaimed: { code: 'conflict', what_to_do: 'Another agent has it. Take another task.' },
  ErrTaskNotApproved: {
    code: 'conflict',
    what_to_do: 'Only an approved task without subtasks can be claimed. See list_tasks.',
  },
  ErrAgentQuarantined: {
    code: 'forbidden',
    what_to_do: 'Take no more work. Your owner can lift the quarantine.',
  },
  ErrClaimExpired: {
    code: 'conflict',
    what_to_do: 'Stop: your lease on this task ended. Claim it again if it is still free.',
  },
  ErrTaskNotAwaitingVerification: {
    code: 'conflict',
    what_to_do: 'There is nothing to decide on this task now.',
  },
  ErrVerifierNotConfigured: {
    code: 'conflict',
    what_to_do: 'This task has no peer verifier, so no verdict is taken.',
  },
  ErrNotPermittedVerifier: {
    code: 'forbidden',
    what_to_do: 'Leave the verdict to the verifier of this task.',
  },
  ErrSpawnDepthExceeded: {
    code: 'forbidden',
    what_to_do: 'Do the work yourself, or ask an agent nearer to the top to propose this one.',
  },
  ErrDelegationCapExceeded: {
    code: 'forbidden',
    what_to_do: 'Propose no more than you have yourself; the violations are in details.',
  },
  ErrAgentNameTaken: { code: 'conflict', what_to_do: 'Choose another name.' },
  ErrCommandVerifierDisabled: {
    code: 'conflict',
    what_to_do: 'Enable command verifiers in the settings first, or edit the tree.',
  },
  ErrMissingTaskContext: {
    code: 'forbidden',
    what_to_do: 'Name a task that you hold or verify.',
  },
  ErrAlreadyRevoked: { code: 'conflict', what_to_do: 'Nothing: it is revoked already.' },
  ErrAlreadyDecided: { code: 'conflict', what_to_do: 'Nothing: the decision stands.' },
  ErrDigestMismatch: {
    code: 'conflict',
    what_to_do: 'Read the approval again and decide on what it says now.',
  },
  ErrInvalidReaction: { code: 'invalid_argument', what_to_do: 'Use one of the reactions listed.' },
  ErrReactionLimit: { code: 'ceiling_exceeded', what_to_do: 'Remove a reaction first.' },
  ErrNotMember: { code: 'not_found', what_to_do: 'Check the channel. It is unknown, or private.' },
  ErrSystemChannel: {
    code: 'conflict',
    what_to_do: 'This channel belongs to the system and stays as it is.',
  },
} as const satisfies Record<string, NamedError>

export type ErrorName = keyof typeof namedErrors

interface NamedErrorOptions {
  readonly what_to_do?: string
  readonly details?: Readonly<Record<string, unknown>>
}

export const namedError = (
  name: ErrorName,
  message: string,
  { what_to_do, details = {} }: NamedErrorOptions = {},
): ServiceError =>
  new ServiceError(namedErrors[name].code, message, {
    what_to_do: what_to_do ?? namedErrors[name].what_to_do,
    details: { error: name, ...details },
  })
