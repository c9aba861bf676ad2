/** Numbers of this service alone; those that callers meet stand in contracts. */

export const PROJECTION_WAIT_MS = 2_000
/** Each lost compare-and-set means that somebody else wrote the same key meanwhile. */
export const PROJECTION_TRIES_MAX = 64

/** Scores of one configuration that are read at once; billing codes are chosen by agents. */
export const DOMAINS_MAX = 200

export const RECONCILE_INTERVAL_MS = 60_000
export const RECONCILE_PAGE = 200
export const RECONCILE_AT_ONCE = 8

export const RECOMPUTE_SCORES_PAGE = 200
export const RECOMPUTE_EVIDENCE_PAGE = 1_000
export const DIFFERENCES_SHOWN_MAX = 100
/** Sums in another order round otherwise. A difference that matters is far above this. */
export const RECOMPUTE_TOLERANCE = 1e-9

export const INBOX_SWEEP_INTERVAL_MS = 3_600_000
export const INBOX_SWEEP_PAGE = 1_000

export const NOTICE_NAMES_MAX = 20
export const REF_MAX_CHARS = 500
