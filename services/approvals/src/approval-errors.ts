import { type ApprovalStatus, namedError, ServiceError } from '@guildhall/contracts'

/** Unknown and foreign are one. */
export const noSuchApproval = (): ServiceError =>
  new ServiceError('not_found', 'there is no such approval')

export const alreadyDecided = (status: ApprovalStatus): ServiceError =>
  namedError('ErrAlreadyDecided', `this approval is ${status}`, { details: { status } })

export const hasExpired = (): ServiceError =>
  namedError('ErrAlreadyDecided', 'this approval has expired', {
    what_to_do: 'Nothing was decided. The agent can ask again.',
    details: { status: 'expired' },
  })

export const otherDigest = (digest: string): ServiceError =>
  namedError('ErrDigestMismatch', 'this is not what the approval says now', { details: { digest } })
