import { RETENTION_DAYS } from '@guildhall/contracts'

/** Numbers of this service alone; those that callers are told by schema stand in contracts. */

export const PASSWORD_HASHES_AT_ONCE = 2
/** More waiting than this could outlast the caller: each takes 0.2 s of a core, or more. */
export const PASSWORD_HASHES_WAITING_MAX = 8

export const LOGIN_LINK_TTL_MS = 15 * 60_000
/** A repeat of a redemption whose answer was lost, told by its idempotency key. */
export const LOGIN_LINK_REPEAT_MS = 60_000
export const LOGIN_WINDOW_MS = 15 * 60_000
export const LOGIN_ATTEMPTS_PER_USER = 10
/** Higher, since a household or an office may share one address. */
export const LOGIN_ATTEMPTS_PER_ADDRESS = 50

/** How long the answer to an idempotency key can be had again, a credential included. */
export const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000

export const ENDPOINTS_PER_USER_MAX = 1_000
export const API_TOKENS_PER_USER_MAX = 50
export const WEBHOOKS_PER_ENDPOINT_DEFAULT = 5

export const RECONCILE_INTERVAL_MS = 60_000
export const RECONCILE_PAGE = 200
export const RECONCILE_AT_ONCE = 8

export const SWEEP_INTERVAL_MS = 60_000
export const SWEEP_PAGE = 1_000
/** Used and expired login links stay this long, for whoever asks what happened. */
export const LOGIN_LINK_KEPT_MS = 7 * 86_400_000

/** Made by a person; those that the system makes do not count. */
export const CHANNELS_PER_USER_MAX = 1_000
/** Counting further would tell nobody more, and cost each list of channels. */
export const UNREAD_COUNTED_MAX = 1_000

export const AUDIT_VERIFY_PAGE = 1_000

/** An event can come again for as long as the stream keeps it; twice that is long enough. */
export const INBOX_KEPT_MS = 2 * RETENTION_DAYS * 86_400_000

/** A secret that arrives answers the requests for it in pages. */
export const FULFIL_PAGE = 100
/** How soon after its time an approval is shown as expired, and a reminder is sent. */
export const APPROVAL_SWEEP_INTERVAL_MS = 5_000
export const APPROVAL_SWEEP_PAGE = 200
/** Used and expired claims of credentials stay this long, for whoever asks what happened. */
export const CREDENTIAL_CLAIM_KEPT_MS = 7 * 86_400_000
