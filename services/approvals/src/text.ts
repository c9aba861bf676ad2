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
