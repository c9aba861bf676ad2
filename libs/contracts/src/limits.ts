/**
 * Every number that an agent, a provider or an operator can run into. Units are in the names.
 * Instructions, tool descriptions, schemas, validation and tests are all built from these, so that
 * a text can never promise something that the code does not do.
 */

export const LEASE_DEFAULT_SECONDS = 300
export const LEASE_MAX_SECONDS = 86_400
/** A default shorter than a minute would lapse before an ordinary model turn ends. */
export const LEASE_ENDPOINT_DEFAULT_MIN_SECONDS = 60
/** A claim made by hand on a board, where nothing sends heartbeats. */
export const LEASE_HUMAN_SECONDS = 300

/** How long JetStream waits before it hands out again a message pulled by a service that died. */
export const PULL_ACK_WAIT_MS = 5_000

export const ATTEMPTS_DEFAULT_MAX = 5
export const ATTEMPTS_MAX_MAX = 50
/** Closed attempts shown at a claim, so that a worker sees what its predecessors met. */
export const PRIOR_ATTEMPTS_SHOWN = 5
/** Closed attempts kept per todo; older ones are pruned and counted. */
export const ATTEMPTS_KEPT = 50
export const ATTEMPTS_PAGE_DEFAULT = 20
export const ATTEMPTS_PAGE_MAX = 50

/** 30 s, 1, 2, 4, 8, then 15 minutes. */
export const BACKOFF_FIRST_MS = 30_000
export const BACKOFF_MAX_MS = 900_000

export const LIST_LIMIT_DEFAULT = 50
export const LIST_LIMIT_MAX = 200

export const CLAIM_WAIT_MAX_SECONDS = 50
/** claim_next without a queue looks into each granted queue; more would make one call unbounded. */
export const QUEUES_PER_ENDPOINT_MAX = 32

export const TITLE_MAX_CHARS = 300
export const CLAIMANT_MAX_BYTES = 128
export const SUMMARY_MAX_BYTES = 2_048
export const ARTIFACT_MAX_BYTES = 512
export const RESULT_MAX_BYTES = 262_144
export const CREATE_PAYLOAD_MAX_BYTES = 262_144
/** A payload above this is not put into a claim's answer; it is read in pages instead. */
export const CLAIM_PAYLOAD_INLINE_MAX_BYTES = 131_072
/** Base64 makes 16 KiB of it: an answer stays below 20,000 characters. */
export const PAYLOAD_PAGE_BYTES = 12_288
export const IDEMPOTENCY_KEY_MAX_CHARS = 200

/** Terminal work items, deliveries and their deduplication are kept this long. */
export const RETENTION_DAYS = 30

/**
 * Disk that the streams and buckets may fill together on each nats-server, unless the operator says
 * otherwise: what a laptop can spare. Below the least, the share of a small bucket means nothing.
 */
export const STORAGE_DEFAULT_BYTES = 8 * 1024 ** 3
export const STORAGE_MIN_BYTES = 512 * 1024 ** 2

export const INGEST_SIGNED_BODY_MAX_BYTES = 25 * 1024 * 1024
export const INGEST_TOKEN_BODY_MAX_BYTES = 5 * 1024 * 1024
export const MCP_BODY_MAX_BYTES = 1024 * 1024
export const SIGNATURE_TOLERANCE_SECONDS = 300
/** Linear signs a time in milliseconds and documents one minute. */
export const LINEAR_TOLERANCE_SECONDS = 60
export const WEBHOOK_ROTATION_OVERLAP_SECONDS = 86_400

/** Rings for an item that stays unclaimed, counted from when it became claimable. */
export const RE_RING_AFTER_MS: readonly number[] = [300_000, 1_200_000, 3_600_000, 21_600_000]
export const RINGS_ON_ATTACH = 3
export const RING_STREAM_BUFFER = 16
/** Attaching again within this time does not ring for the same items. */
export const RING_REPEAT_MIN_MS = 60_000
export const RINGS_PER_SWEEP = 100

export const RPC_TIMEOUT_MS = 5_000
export const SWEEP_INTERVAL_MS = 1_000
export const SWEEP_BATCH = 500
/** A todo whose message is missing for so long is sent, or taken back, by the sweep. */
export const UNSENT_AFTER_MS = 30_000

export const GOAL_TITLE_MIN_CHARS = 3
export const GOAL_TITLE_MAX_CHARS = 200
export const GOAL_DESCRIPTION_MIN_CHARS = 10
export const GOAL_DESCRIPTION_MAX_CHARS = 16_000
/** `goal-<slug>` names a channel and a queue, and those are at most 64 characters long. */
export const GOAL_SLUG_MAX_CHARS = 59
export const GOAL_SLUG_SUFFIX_MAX = 99
export const GOAL_EVENTS_SHOWN = 50
export const SPAWN_DEPTH_DEFAULT = 3
export const SPAWN_DEPTH_MAX = 10
export const BUDGET_ALERT_PERCENT = 80

export const TREE_NODES_MAX = 500
export const TREE_DEPTH_MAX = 16
/** The serialised ancestry of a task; a tree with a node above it is refused whole. */
export const ANCESTRY_MAX_BYTES = 16_384
export const TASK_TEXT_MAX_CHARS = 16_000

export const COMMAND_TIMEOUT_DEFAULT_SECONDS = 60
export const COMMAND_TIMEOUT_MAX_SECONDS = 600
export const COMMAND_OUTPUT_MAX_BYTES = 16_384
/** A peer that has not answered by then is not waited for: the owner decides. */
export const PEER_VERIFICATION_SECONDS = 86_400

export const APPROVAL_EXPIRES_AFTER_SECONDS = 7 * 86_400
export const APPROVAL_REMINDERS_AFTER_SECONDS: readonly number[] = [4 * 3_600, 48 * 3_600]
export const APPROVALS_PENDING_PER_AGENT_MAX = 100

export const CREDENTIAL_CLAIM_SECONDS = 86_400
export const AGENTS_PER_USER_MAX = 1_000

export const MESSAGE_MAX_CHARS = 16_000
export const MESSAGE_METADATA_MAX_BYTES = 16_384
export const REACTIONS_PER_MESSAGE_MAX = 100

export const REPUTATION_HALF_LIFE_DAYS = 30
/** How many units of evidence the prior weighs. */
export const REPUTATION_PRIOR_WEIGHT = 2
export const REPUTATION_NEUTRAL = 0.5
/** What an unproven child, or a changed configuration, has of its parent's score. */
export const REPUTATION_INHERITED = 0.7
export const QUARANTINE_BELOW = 0.3
export const QUARANTINE_EVIDENCE_MIN = 3

export const SECRET_VALUE_MIN_CHARS = 8
export const SECRET_VALUE_MAX_BYTES = 65_536
export const SECRET_HOSTS_MAX = 50
export const SECRET_CALL_TIMEOUT_MS = 20_000
export const SECRET_CALL_BODY_MAX_BYTES = 262_144
export const SECRET_CALL_ANSWER_MAX_BYTES = 1_048_576
export const SECRET_CALL_SHOWN_MAX_CHARS = 16_000
export const SECRET_CALL_REDIRECTS_MAX = 5
