import {
  ARTIFACT_MAX_BYTES,
  CLAIMANT_MAX_BYTES,
  ServiceError,
  SUMMARY_MAX_BYTES,
} from '@guildhall/contracts'

/** What agents write is data: cut to size, freed of control characters, never interpreted. */

/** Cuts to so many bytes without splitting a character. */
const cutUtf8 = (text: string, max_bytes: number): { text: string; cut: boolean } => {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= max_bytes) return { text: bytes.toString('utf8'), cut: false }
  let end = max_bytes
  // A continuation byte (10xxxxxx) at the cut means that its character would be split.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return { text: bytes.subarray(0, end).toString('utf8'), cut: true }
}

const CONTROL = /\p{Cc}/gu

export const cleanClaimant = (claimant: string | undefined): string | null => {
  if (claimant === undefined) return null
  const { text } = cutUtf8(claimant.replace(CONTROL, ''), CLAIMANT_MAX_BYTES)
  return text === '' ? null : text
}

export const cleanSummary = (
  summary: string | undefined,
): { summary: string | null; summary_truncated: boolean } => {
  if (summary === undefined) return { summary: null, summary_truncated: false }
  // PostgreSQL cannot store NUL in text; nothing a person reads needs it.
  const { text, cut } = cutUtf8(summary.replaceAll('\u0000', ''), SUMMARY_MAX_BYTES)
  return { summary: text, summary_truncated: cut }
}

const CAIRN = /^mcp:\/\/cairn\/[A-Za-z0-9_-]{1,64}$/

const isHttpsUrl = (text: string): boolean => {
  try {
    return new URL(text).protocol === 'https:'
  } catch {
    return false
  }
}

/** A place where the work can be found. It is shown, never fetched. */
export const checkArtifact = (artifact: string | undefined): string | null => {
  if (artifact === undefined) return null
  const fits = Buffer.byteLength(artifact) <= ARTIFACT_MAX_BYTES
  if (fits && (CAIRN.test(artifact) || isHttpsUrl(artifact))) return artifact
  throw new ServiceError(
    'invalid_argument',
    `artifact: must be an absolute https URL of at most ${ARTIFACT_MAX_BYTES} bytes, or mcp://cairn/<id>`,
  )
}
