import { ServiceError } from '@guildhall/contracts'

/** Control characters and half surrogates: PostgreSQL refuses some, and no name needs any. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/u

export const isStorable = (text: string): boolean => !UNSTORABLE.test(text)

/** For text that only describes, such as a client's address. */
export const storable = (text: string): string => text.replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD')

export const checkName = (field: string, name: string): string => {
  if (isStorable(name) && name.trim() !== '') return name
  throw new ServiceError(
    'invalid_argument',
    `${field}: a name needs a visible character and may hold no control characters`,
  )
}

/**
 * What people and agents write, as it is. Only what PostgreSQL cannot store goes: NUL, and halves
 * of surrogate pairs, which become the character that stands for a broken one.
 */
export const cleanText = (text: string): string =>
  Buffer.from(text.replaceAll('\u0000', ''), 'utf8').toString('utf8')

const JSON_DEPTH_MAX = 32

/** JSON with every text in it cleaned, names of fields included. */
const cleanJson = (value: unknown, depth = 0): unknown => {
  // PostgreSQL's parser gives up somewhere beyond this, with an error that helps nobody.
  if (depth > JSON_DEPTH_MAX) {
    throw new ServiceError('invalid_argument', `nested deeper than ${JSON_DEPTH_MAX} levels`)
  }
  if (typeof value === 'string') return cleanText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, depth + 1))
  return cleanFields(value, depth)
}

export const cleanFields = (fields: object, depth = 0): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [cleanText(name), cleanJson(field, depth + 1)]),
  )
