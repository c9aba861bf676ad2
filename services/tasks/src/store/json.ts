/** PostgreSQL takes neither NUL nor half a surrogate pair; nothing that is shown needs them. */
export const storableText = (text: string): string =>
  Buffer.from(text.replaceAll('\u0000', ''), 'utf8').toString('utf8')

export const storableOrNull = (text: string | null): string | null =>
  text === null ? null : storableText(text)

const storable = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? storableText(value) : value

export const toJson = (value: unknown): string => JSON.stringify(value, storable)
