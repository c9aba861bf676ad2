/**
 * The same bytes read differently: with escapes resolved, or decoded from base64 or hex. A view
 * remembers for every byte which bytes of the original it came from, so that what is found in it
 * can be cut out of the original.
 */
export interface View {
  readonly bytes: Buffer
  /** Byte i came from the original's bytes from[i] up to, not including, to[i]. */
  readonly from: Uint32Array
  readonly to: Uint32Array
}

/** How short and how long what is looked for may be, as it stands in a view. */
interface Extent {
  readonly least: number
  readonly longest: number
}

/** None where the bytes read no differently. */
export type Reading = (view: View, extent: Extent) => readonly View[]

export const originalView = (bytes: Buffer): View => {
  const from = new Uint32Array(bytes.length)
  const to = new Uint32Array(bytes.length)
  for (let i = 0; i < bytes.length; i += 1) {
    from[i] = i
    to[i] = i + 1
  }
  return { bytes, from, to }
}

/** In no text of UTF-8: what stood apart must not be found as if it stood together. */
const SEPARATOR = 0xff

/** Builds a view byte by byte. Pieces of the parent that stand apart are kept apart. */
export class ViewBuilder {
  readonly #parent: View
  readonly #bytes: Buffer
  readonly #from: Uint32Array
  readonly #to: Uint32Array
  #length = 0

  /** No reading makes more bytes than it is given, separators in the gaps included. */
  constructor(parent: View) {
    const { length } = parent.bytes
    this.#parent = parent
    this.#bytes = Buffer.allocUnsafe(length + 1)
    this.#from = new Uint32Array(length + 1)
    this.#to = new Uint32Array(length + 1)
  }

  /** A byte that the parent's bytes from `start` up to `end` stand for. */
  push(byte: number, start: number, end: number): void {
    const at = this.#length
    this.#bytes[at] = byte
    this.#from[at] = this.#parent.from[start] ?? 0
    this.#to[at] = this.#parent.to[end - 1] ?? 0
    this.#length = at + 1
  }

  /** The parent's bytes as they are. */
  copy(start: number, end: number): void {
    const { bytes, from, to } = this.#parent
    this.#bytes.set(bytes.subarray(start, end), this.#length)
    this.#from.set(from.subarray(start, end), this.#length)
    this.#to.set(to.subarray(start, end), this.#length)
    this.#length += end - start
  }

  separate(at: number): void {
    if (this.#length > 0) this.push(SEPARATOR, at, at + 1)
  }

  view(): View {
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      from: this.#from.subarray(0, this.#length),
      to: this.#to.subarray(0, this.#length),
    }
  }
}
