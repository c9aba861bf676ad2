/** How a value may look in an answer, written here independently of how it is searched for. */

const everyByte = (text: string, show: (byte: number) => string): string =>
  [...Buffer.from(text, 'utf8')].map(show).join('')

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')

/** The characters of base64 that depend on nothing but the value, at each of three offsets. */
const base64Cores = (text: string, encoding: 'base64' | 'base64url'): string[] =>
  [0, 1, 2].map((offset) => {
    const bytes = Buffer.from(text, 'utf8')
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding)
    const first = Math.ceil((offset * 8) / 6)
    const last = Math.floor(((offset + bytes.length) * 8) / 6)
    return encoded.slice(first, last)
  })

/** Each of these lets whoever reads it have the value back. */
export const encodingsOf = (value: string): Readonly<Record<string, readonly string[]>> => ({
  plain: [value],
  'other case': [value.toUpperCase(), value.toLowerCase()],
  percent: [
    encodeURIComponent(value),
    encodeURIComponent(value).toLowerCase(),
    everyByte(value, (byte) => `%${hex(byte)}`),
    everyByte(value, (byte) => `%${hex(byte).toUpperCase()}`),
  ],
  hex: [everyByte(value, hex), everyByte(value, (byte) => hex(byte).toUpperCase())],
  json: [
    JSON.stringify(value).slice(1, -1),
    [...value]
      .map((char) =>
        [...Array(char.length).keys()]
          .map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`)
          .join(''),
      )
      .join(''),
    JSON.stringify(JSON.stringify(value)).slice(3, -3),
  ],
  html: [
    value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`),
    [...value].map((char) => `&#x${char.codePointAt(0)?.toString(16)};`).join(''),
  ],
  base64: base64Cores(value, 'base64'),
  base64url: base64Cores(value, 'base64url'),
  'base64 of base64': [
    Buffer.from(Buffer.from(value).toString('base64')).toString('base64').slice(0, -8),
  ],
})

/** One way to write it, with something of the same kind before and after. */
export const embeddings = (value: string, before: string, after: string): string[] => {
  const around = `${before}${value}${after}`
  const bytes = Buffer.from(around, 'utf8')
  return [
    around,
    JSON.stringify({ echo: around }),
    JSON.stringify(JSON.stringify({ echo: around })),
    encodeURIComponent(around),
    encodeURIComponent(encodeURIComponent(around)),
    everyByte(around, (byte) => `%${hex(byte)}`),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    `data:text/plain;base64,${bytes.toString('base64')}`,
    bytes.toString('base64').replace(/.{20}/g, '$&\r\n'),
    encodeURIComponent(bytes.toString('base64')),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    bytes.toString('hex').replace(/../g, '$&:'),
    Buffer.from(JSON.stringify({ echo: around })).toString('base64'),
    Buffer.from(bytes.toString('base64')).toString('base64'),
    [...around].map((char) => `&#${char.codePointAt(0)};`).join(''),
    `${before} ${[...value].join(' ')} ${after}`,
  ]
}
