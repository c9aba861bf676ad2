import { escapeReadings } from './escapes.ts'
import { radixReadings } from './radix.ts'
import { originalView, type View } from './views.ts'

/**
 * Takes a value out of whatever a host answers, however the host wrote it: as it is, in another
 * case, with other blanks, escaped, in base64 or hex at any offset, packed, or several of these in
 * one another. Instead of listing how a value may look, the answer is read in every way we know,
 * and the value is looked for in each reading.
 *
 * What no reading can undo stays out of reach: a host that reverses, encrypts or splits what it was
 * sent can get a value past this. The owner lists hosts with that in mind.
 */
export interface Scrubber {
  /** Undefined: it would take too long to be sure, so nothing of it may be shown. */
  scrub(bytes: Buffer): Buffer | undefined
  /** How long the value may be as it stands in an answer: what a cut may have left half of. */
  readonly longest_bytes: number
  /** Zeroes what it searches for. */
  close(): void
}

/** JSON in a URL in base64 is real; deeper than that somebody is hiding something. */
const READINGS_DEEP = 3
/** All readings together, in relation to the answer. */
const READ_BYTES_FACTOR = 16
const READ_BYTES_MIN = 256 * 1024
const readings = [...escapeReadings, ...radixReadings]

/** One byte as \u00xx in base64, and some room for a second escape of some. */
const ENCODED_FACTOR = 9
const ENCODED_MARGIN_BYTES = 64

const isBlank = (byte: number): boolean => byte === 0 || byte === 0x20 || (byte >= 9 && byte <= 13)

const lowered = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte)

/** Without blanks and NULs and in lower case; and where each byte of that was. */
const folded = (bytes: Buffer): { folded: Buffer; at: Uint32Array } => {
  const result = Buffer.allocUnsafe(bytes.length)
  const at = new Uint32Array(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0
    if (isBlank(byte)) continue
    result[length] = lowered(byte)
    at[length] = i
    length += 1
  }
  return { folded: result.subarray(0, length), at: at.subarray(0, length) }
}

/** The value in every character set that an answer may be in; ASCII is alike in all, once folded. */
const needlesOf = (value: Buffer): Buffer[] => {
  const text = value.toString('utf8')
  const utf16 = Buffer.from(text, 'utf16le')
  const forms = [value, utf16, Buffer.from(utf16).swap16()]
  if ([...text].every((char) => char <= '\u00ff')) forms.push(Buffer.from(text, 'latin1'))
  const needles: Buffer[] = []
  for (const form of forms) {
    const needle = Buffer.from(folded(form).folded)
    if (form !== value) form.fill(0)
    if (!needles.some((known) => known.equals(needle))) needles.push(needle)
  }
  return needles
}

type Range = readonly [number, number]

const merged = (ranges: readonly Range[]): Range[] => {
  const sorted = [...ranges].sort(([a], [b]) => a - b)
  const result: [number, number][] = []
  for (const [start, end] of sorted) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}

const occurrences = ({ bytes, from, to }: View, needles: readonly Buffer[]): Range[] => {
  const found: Range[] = []
  const { folded: haystack, at } = folded(bytes)
  for (const needle of needles) {
    for (let start = haystack.indexOf(needle); start >= 0; ) {
      const last = start + needle.length - 1
      found.push([from[at[start] ?? 0] ?? 0, to[at[last] ?? 0] ?? 0])
      start = haystack.indexOf(needle, start + 1)
    }
  }
  return found
}

export const createScrubber = (name: string, value: Buffer): Scrubber => {
  const needles = needlesOf(value)
  const least = Math.min(...needles.map((needle) => needle.length))
  const longest = value.length * ENCODED_FACTOR + ENCODED_MARGIN_BYTES
  const marker = Buffer.from(`[secret ${name}]`)

  /** False when the readings grow out of proportion. */
  const search = (bytes: Buffer, found: Range[]): boolean => {
    let left = READ_BYTES_MIN + READ_BYTES_FACTOR * bytes.length
    const look = (view: View, deeper: number): boolean => {
      left -= view.bytes.length
      if (left < 0) return false
      found.push(...occurrences(view, needles))
      if (deeper === 0) return true
      return readings.every((reading) =>
        reading(view, { least, longest }).every(
          (next) => next.bytes.length < least || look(next, deeper - 1),
        ),
      )
    }
    return look(originalView(bytes), READINGS_DEEP)
  }

  return {
    longest_bytes: longest,
    scrub: (bytes) => {
      const found: Range[] = []
      if (!search(bytes, found)) return undefined
      const pieces: Buffer[] = []
      let done = 0
      for (const [start, end] of merged(found)) {
        pieces.push(bytes.subarray(done, start), marker)
        done = end
      }
      return Buffer.concat([...pieces, bytes.subarray(done)])
    },
    close: () => {
      for (const needle of needles) needle.fill(0)
    },
  }
}
