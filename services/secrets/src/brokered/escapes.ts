import type { Reading } from './views.ts'
import { ViewBuilder } from './views.ts'

/** Escapes of URLs, of strings in JSON and code, and of HTML. */

/** A pair of \\uxxxx; the longest entity is shorter. */
const ESCAPE_MAX_BYTES = 12

/** The text that begins at `start`, as Latin-1, so that a byte is a character. */
const ahead = (bytes: Buffer, start: number, length: number): string =>
  bytes.toString('latin1', start, Math.min(bytes.length, start + length))

interface Escape {
  /** A byte, or text that may be several. */
  readonly meaning: number | string
  readonly length: number
}

interface Found {
  readonly at: number
  readonly bytes: readonly number[] | Buffer
  readonly end: number
}

const findEscapes = (
  bytes: Buffer,
  lead: number,
  read: (ahead: string) => Escape | undefined,
): Found[] => {
  const found: Found[] = []
  for (let at = bytes.indexOf(lead); at >= 0; ) {
    const escape_at = read(ahead(bytes, at, ESCAPE_MAX_BYTES))
    const end = at + (escape_at?.length ?? 1)
    if (escape_at !== undefined) {
      const { meaning } = escape_at
      found.push({ at, end, bytes: typeof meaning === 'number' ? [meaning] : Buffer.from(meaning) })
    }
    at = bytes.indexOf(lead, end)
  }
  return found
}

/**
 * Only what is near an escape reads differently: an occurrence without one inside is found in the
 * parent already. So an ordinary answer with a few escapes costs little more than one without.
 */
const unescaped =
  (lead: number, read: (ahead: string) => Escape | undefined): Reading =>
  (view, { longest }) => {
    const { length } = view.bytes
    const found = findEscapes(view.bytes, lead, read)
    if (found.length === 0) return []
    const built = new ViewBuilder(view)
    let done = 0
    for (const [index, { at, end, bytes }] of found.entries()) {
      const start = Math.max(done, at - longest)
      if (start > done) built.separate(start - 1)
      built.copy(start, at)
      for (const byte of bytes) built.push(byte, at, end)
      const next = found[index + 1]?.at ?? length
      done = Math.min(next, end + longest)
      built.copy(end, done)
    }
    return [built.view()]
  }
const PERCENT = /^%([0-9a-f]{2})/i

const percent = unescaped(0x25, (text) => {
  const [, hex] = PERCENT.exec(text) ?? []
  return hex === undefined ? undefined : { meaning: Number.parseInt(hex, 16), length: 3 }
})

/** Of JSON, and of the languages that write strings alike. */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  '"': '"',
  "'": "'",
  '/': '/',
  '\\': '\\',
}
const PAIR = /^\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/i
const UNIT = /^\\u([0-9a-f]{4})/i
const BYTE = /^\\x([0-9a-f]{2})/i

const backslash = unescaped(0x5c, (text) => {
  const short = SHORT_ESCAPES[text.charAt(1)]
  if (short !== undefined) return { meaning: short, length: 2 }
  const [, high, low] = PAIR.exec(text) ?? []
  const units = high !== undefined && low !== undefined ? [high, low] : UNIT.exec(text)?.slice(1)
  if (units !== undefined) {
    const codes = units.map((unit) => Number.parseInt(unit, 16))
    return { meaning: String.fromCharCode(...codes), length: units.length * 6 }
  }
  const [, byte] = BYTE.exec(text) ?? []
  return byte === undefined ? undefined : { meaning: Number.parseInt(byte, 16), length: 4 }
})

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  sol: '/',
  plus: '+',
  equals: '=',
}
const ENTITY = /^&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,6}));/i
const UNICODE_MAX = 0x10_ffff

const entity = unescaped(0x26, (text) => {
  const match = ENTITY.exec(text)
  if (match === null) return undefined
  const [whole, hex, decimal, name] = match
  if (name !== undefined) {
    const known = NAMED[name.toLowerCase()]
    return known === undefined ? undefined : { meaning: known, length: whole.length }
  }
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  if (code > UNICODE_MAX) return undefined
  return { meaning: String.fromCodePoint(code), length: whole.length }
})

export const escapeReadings: readonly Reading[] = [percent, backslash, entity]
