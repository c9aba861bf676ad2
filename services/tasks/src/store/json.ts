/** PostgreSQL takes neither NUL nor half a surrogate pair; nothing that is shown needs them. */
export const storableText = (text: string): string =>
  Buffer.from(text.replaceAll('\u0000', ''), 'utf8').toString('utf8')

export const storableOrNull = (text: string | null): string | null =>
  text === null ? null : storableText(text)

const storable = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? storableText(value) : value

/** How JSON writes NUL and half a surrogate pair. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/

/** Looked through only when there is something to take out: most of what is stored is clean. */
export const toJson = (value: unknown): string => {
  const json = JSON.stringify(value)
  return UNSTORABLE.test(json) ? JSON.stringify(value, storable) : json
}
