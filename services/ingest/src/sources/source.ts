import type { TrustMode } from '@guildhall/contracts'

/** What every kind of sender is asked. All of it is pure: bytes and a time in, a verdict out. */

/** Names in lower case; a header that came twice holds both values, joined as HTTP says. */
export type RequestHeaders = Readonly<Record<string, string>>

export interface VerifyInput {
  readonly headers: RequestHeaders
  /** The body as it came, byte for byte: a signature holds for nothing else. */
  readonly body: Buffer
  /** Newest first. During a rotation several are accepted. */
  readonly secrets: readonly string[]
  readonly now_ms: number
}

export type Verdict =
  | {
      readonly ok: true
      readonly detail: string
      /** Names the delivery by what the sender signed, so that no forged header makes a new one. */
      readonly external_id: string
    }
  /** `reason` is for our log and metrics; the sender is told only that it failed. */
  | { readonly ok: false; readonly reason: RefusalReason }

export type RefusalReason =
  | 'signature_missing'
  | 'signature_malformed'
  | 'signature_mismatch'
  | 'timestamp_missing'
  | 'timestamp_malformed'
  | 'timestamp_out_of_tolerance'
  | 'id_missing'
  | 'id_malformed'

export interface DescribeInput {
  readonly headers: RequestHeaders
  /** The parsed body, or undefined where it is not JSON. */
  readonly json: unknown
}

export interface Description {
  readonly event_type?: string
  readonly title: string
}

export interface Source {
  readonly trust_mode: TrustMode
  verify(input: VerifyInput): Verdict
  describe(input: DescribeInput): Description
  /** What is wrong with a secret that a caller gives, or undefined. */
  checkSecret(secret: string): string | undefined
  /** Absent where the provider issues the secret and would not take ours. */
  mint?(): string
  /** The answer to a set-up question of the provider, which is no event. */
  handshake?(json: unknown): Readonly<Record<string, string>> | undefined
}

export const refused = (reason: RefusalReason): Verdict => ({ ok: false, reason })
