import { randomUUID } from 'node:crypto'
import type { CallContext } from '@guildhall/bus'
import {
  type Attempt,
  type ClaimedTodo,
  holderName,
  LEASE_MAX_SECONDS,
  type TodoRow,
  type WorkRecord,
} from '@guildhall/contracts'
import type { Tasks } from './context.ts'
import { leaseMs } from './lease-length.ts'
import { hashOf, leaseToken } from './lease-token.ts'
import { isInline, readPayload } from './payload.ts'
import { toRow } from './rows.ts'
import { cleanClaimant } from './text.ts'
import { type Claim, claimed } from './work-item.ts'
import { readBody } from './work-messages.ts'

/** What claim and claim_next have in common: who asks, on what terms, and what they are given. */

interface ClaimInput {
  readonly lease_ttl_seconds?: number | undefined
  readonly require_fence?: boolean | undefined
  readonly claimant?: string | undefined
  readonly idempotency_key?: string | undefined
}

export interface ClaimRequest {
  readonly holder: string
  readonly claim_key: string
  readonly claim_key_hash: string
  /** The caller named the key, and may ask again under it. */
  readonly keyed: boolean
  readonly terms: Omit<Claim, 'lease_token_hash' | 'ack_subject'>
}

export const claimRequest = (ctx: CallContext, input: ClaimInput): ClaimRequest => {
  const { principal } = ctx
  const agent = principal.kind === 'agent' ? principal : undefined
  const holder = holderName(principal)
  const claim_key = `${holder}:${input.idempotency_key ?? ctx.idempotency_key ?? randomUUID()}`
  const claim_key_hash = hashOf(claim_key)
  return {
    holder,
    claim_key,
    claim_key_hash,
    keyed: input.idempotency_key !== undefined,
    terms: {
      holder,
      endpoint_id: agent?.endpoint_id,
      claimer_kind: agent === undefined ? 'owner' : 'endpoint',
      claimant: cleanClaimant(input.claimant),
      lease_ms: leaseMs(principal, input.lease_ttl_seconds),
      require_fence: input.require_fence === true || agent?.scope.require_fence === true,
      claim_key_hash,
    },
  }
}

/** The record as this request would claim it, or undefined when it may not. */
export const claimRecord = (
  tasks: Tasks,
  request: ClaimRequest,
  record: WorkRecord,
  ack_subject: string | undefined,
): WorkRecord | undefined => {
  const token = tokenOf(tasks, request, record, record.attempts_total + 1)
  return claimed(
    record,
    { ...request.terms, lease_token_hash: hashOf(token), ack_subject },
    tasks.clock.now(),
  )
}

const tokenOf = (
  tasks: Tasks,
  request: ClaimRequest,
  record: WorkRecord,
  attempt_seq: number,
): string => leaseToken(tasks.lease_token_key, record.id, attempt_seq, request.claim_key)

/** Whether the open claim was made by an earlier try of this same request. */
export const isOwnClaim = (record: WorkRecord, request: ClaimRequest, now: number): boolean =>
  record.state === 'claimed' &&
  record.claim_key_hash === request.claim_key_hash &&
  (record.lease_until ?? 0) > now

interface ClaimParts {
  readonly row: TodoRow
  readonly payload: { readonly payload: unknown; readonly payload_truncated?: true }
  readonly lease: {
    readonly lease_token: string
    readonly fence: number
    readonly attempt_seq: number
    readonly attempts_total: number
    readonly prior_attempts: Attempt[]
  }
}

/** The answer to a claim. The revision of the winning write is the fence. */
export const claimParts = (
  tasks: Tasks,
  request: ClaimRequest,
  record: WorkRecord,
  revision: number,
  data: Uint8Array | undefined,
): ClaimParts => ({
  row: toRow(record),
  payload:
    data !== undefined && isInline(record.payload_size)
      ? { payload: readPayload(record.content_type, data) }
      : { payload: null, ...(record.payload_size > 0 ? { payload_truncated: true as const } : {}) },
  lease: {
    lease_token: tokenOf(tasks, request, record, record.attempts_total),
    fence: record.open_attempt?.fence ?? revision,
    attempt_seq: record.attempts_total,
    attempts_total: record.attempts_total,
    prior_attempts: record.prior_attempts,
  },
})

/** The bytes for a claim's answer; a payload that is too long for one is not even fetched. */
export const answerBody = (tasks: Tasks, record: WorkRecord): Promise<Uint8Array | undefined> =>
  isInline(record.payload_size) ? readBody(tasks, record) : Promise.resolve(undefined)

export const flatClaim = ({ row, payload, lease }: ClaimParts): ClaimedTodo => ({
  ...row,
  ...payload,
  ...lease,
})

/** A delayed message cannot be asked to wait longer than the longest lease. */
export const MESSAGE_DELAY_MAX_MS = LEASE_MAX_SECONDS * 1_000
