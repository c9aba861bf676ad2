import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js'

/** Revisions with an `initialize` handshake, newest first. The newest is what the SDK knows. */
export const legacyVersions: readonly string[] = [
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
]

/** Revisions in which each request carries its version, `_meta` and headers. */
export const MODERN_VERSION = '2026-07-28'

export const supportedVersions: readonly string[] = [MODERN_VERSION, ...legacyVersions]

/** The header came with 2025-06-18; its absence means the revision before. */
export const VERSION_WITHOUT_HEADER = '2025-03-26'

/** JSON-RPC batches existed in this revision only. */
export const BATCH_VERSION = '2025-03-26'

/** Revisions are dates, so they order as text. */
export const isModernVersion = (version: string): boolean => version >= MODERN_VERSION

/** What to answer to `initialize`: the client's wish if we speak it, else the newest we have. */
export const negotiateVersion = (wish: unknown): string =>
  typeof wish === 'string' && legacyVersions.includes(wish) ? wish : LATEST_PROTOCOL_VERSION
