import { ServiceError } from '@guildhall/contracts'

/** NUL, and half surrogates: what PostgreSQL cannot keep in a text. */
const UNSTORABLE = /\0|\p{Cs}/u

/**
 * Refuses texts that could only be kept changed: of what an owner approves, every character is
 * covered by the digest. The depth is bounded by the schema that the value went through.
 */
export const checkStorable = (value: unknown, path: string): void => {
  if (typeof value === 'string') {
    if (!UNSTORABLE.test(value)) return
    throw new ServiceError(
      'invalid_argument',
      `${path}: may hold neither NUL nor half of a surrogate pair`,
    )
  }
  if (typeof value !== 'object' || value === null) return
  for (const [field, part] of Object.entries(value)) {
    checkStorable(part, Array.isArray(value) ? `${path}[${field}]` : `${path}.${field}`)
  }
}
