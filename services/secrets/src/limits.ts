import { type RateLimit, SECRET_CALL_SHOWN_MAX_CHARS } from '@guildhall/contracts'

/** Numbers of this service alone; those that callers are told by schema stand in contracts. */

export const SECRETS_PER_SCOPE_MAX = 200

/** Calls with secrets, for each agent and replica. */
export const CALL_RATE: RateLimit = { per_second: 1, burst: 20 }
/** Each holds a few megabytes at worst, for as long as SECRET_CALL_TIMEOUT_MS. */
export const CALLS_AT_ONCE_MAX = 64
/** How long a repeat with the same idempotency key is recognised. */
export const CALL_KEPT_MS = 24 * 3_600_000

export const CALL_HEADERS_MAX = 50
export const CALL_HEADERS_MAX_BYTES = 16_384
/** Of path and query, after the secret was put in. */
export const CALL_PATH_MAX_BYTES = 16_384
/** Of the answer's headers; a larger head is refused by the HTTP parser. */
export const ANSWER_HEADERS_MAX_BYTES = 16_384
/** A name with more addresses than this is somebody's game. */
export const ADDRESSES_MAX = 32

/** Base64 makes four characters of three bytes. */
export const SHOWN_BINARY_MAX_BYTES = (SECRET_CALL_SHOWN_MAX_CHARS / 4) * 3
/** The longest character of UTF-8. */
export const CHAR_MAX_BYTES = 4

export const REWRAP_PAGE = 200

export const FORGET_EVERY_MS = 3_600_000
export const FORGET_BATCH = 500
/** What is left after so many batches is for the next run. */
export const FORGET_BATCHES_MAX = 200
