import { SECRET_VALUE_MAX_BYTES, SECRET_VALUE_MIN_CHARS, ServiceError } from '@guildhall/contracts'

/** One name however it is written: api_key is API_KEY. */
export const secretName = (name: string): string => name.toUpperCase()

/**
 * Throws where a value could not be kept, or not be found again in an answer. Blanks are not
 * counted: they are what servers change when they repeat something, so the search ignores them.
 */
export const checkValue = (value: string): void => {
  const problem = (() => {
    if (Buffer.byteLength(value) > SECRET_VALUE_MAX_BYTES) {
      return `is longer than ${SECRET_VALUE_MAX_BYTES} bytes`
    }
    // Half a surrogate pair would come back as another character.
    if (/\p{Surrogate}/u.test(value)) return 'is not well-formed text'
    const [...chars] = value.replaceAll('\0', '').replace(/\s/g, '')
    return chars.length < SECRET_VALUE_MIN_CHARS
      ? `has fewer than ${SECRET_VALUE_MIN_CHARS} characters that are not blank`
      : undefined
  })()
  if (problem !== undefined) throw new ServiceError('invalid_argument', `value: it ${problem}`)
}
