import { gunzipSync, inflateSync } from 'node:zlib'
import type { Reading, View } from './views.ts'
import { ViewBuilder } from './views.ts'

/** Bytes written in base64 or hex, at whatever offset they begin; and packed files. */

/** Six bits per character of either alphabet of base64, or -1. */
const SIXES = new Int8Array(256).fill(-1)
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for (let i = 0; i < 64; i += 1) SIXES[ALPHABET.charCodeAt(i)] = i
SIXES['-'.charCodeAt(0)] = 62
SIXES['_'.charCodeAt(0)] = 63

const FOURS = new Int8Array(256).fill(-1)
for (let i = 0; i < 16; i += 1) {
  FOURS['0123456789abcdef'.charCodeAt(i)] = i
  FOURS['0123456789ABCDEF'.charCodeAt(i)] = i
}

interface Radix {
  readonly digits: Int8Array
  readonly bits: number
  /** What may stand between two digits without ending the run: line breaks, separators. */
  readonly skipped: ReadonlySet<number>
}

const codes = (text: string): ReadonlySet<number> =>
  new Set([...text].map((char) => char.charCodeAt(0)))
const BASE64: Radix = { digits: SIXES, bits: 6, skipped: codes('\r\n') }
const HEX: Radix = { digits: FOURS, bits: 4, skipped: codes(' :-,\r\n') }

interface Runs {
  /** Positions of all digits of all runs. */
  readonly at: Uint32Array
  /** Each run as a part of them. */
  readonly parts: readonly (readonly [number, number])[]
}

/** The runs of digits that are long enough to hold something. */
const runsOf = ({ bytes }: View, { digits, skipped }: Radix, least: number): Runs => {
  const at = new Uint32Array(bytes.length)
  const parts: [number, number][] = []
  let start = 0
  let end = 0
  for (let i = 0; i <= bytes.length; i += 1) {
    const byte = bytes[i]
    if (byte !== undefined && (digits[byte] ?? -1) >= 0) {
      at[end] = i
      end += 1
    } else if (byte === undefined || !skipped.has(byte)) {
      if (end - start >= least) {
        parts.push([start, end])
        start = end
      } else end = start
    }
  }
  return { at, parts }
}

/** Each run from its digit number `phase` on: where a run begins says nothing about its text. */
const decoded = (view: View, { digits, bits }: Radix, { at, parts }: Runs, phase: number): View => {
  const built = new ViewBuilder(view)
  for (const [start, end] of parts) {
    built.separate(at[start] ?? 0)
    let held = 0
    let held_bits = 0
    let first = start + phase
    for (let k = first; k < end; k += 1) {
      const position = at[k] ?? 0
      held = (held << bits) | (digits[view.bytes[position] ?? 0] ?? 0)
      held_bits += bits
      if (held_bits < 8) continue
      held_bits -= 8
      built.push((held >> held_bits) & 0xff, at[first] ?? 0, position + 1)
      held &= (1 << held_bits) - 1
      // The digit that the next byte begins in: this one again, if bits of it are left.
      first = held_bits > 0 ? k : k + 1
    }
  }
  return built.view()
}

const decodedFrom =
  (radix: Radix, phases: readonly number[]): Reading =>
  (view, { least }) => {
    const runs = runsOf(view, radix, Math.ceil((least * 8) / radix.bits))
    return runs.parts.length === 0 ? [] : phases.map((phase) => decoded(view, radix, runs, phase))
  }

const UNPACKED_MAX_BYTES = 4 * 1024 * 1024

/** Compressed files, which are the same to whoever unpacks them. All of it is one piece then. */
const unpacked: Reading = ({ bytes, from, to }) => {
  const gzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  const zlib =
    ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.length > 2 && bytes.readUInt16BE(0) % 31 === 0
  if (!gzip && !zlib) return []
  try {
    const unpack = gzip ? gunzipSync : inflateSync
    const plain = unpack(bytes, { maxOutputLength: UNPACKED_MAX_BYTES })
    const { length } = plain
    const whole = {
      bytes: plain,
      from: new Uint32Array(length).fill(from[0] ?? 0),
      to: new Uint32Array(length).fill(to.at(-1) ?? 0),
    }
    return [whole]
  } catch {
    return [] // no such file after all, or cut short, or too large to be one of ours
  }
}

export const radixReadings: readonly Reading[] = [
  decodedFrom(BASE64, [0, 1, 2, 3]),
  decodedFrom(HEX, [0, 1]),
  unpacked,
]
