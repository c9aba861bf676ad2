/** One message per line, both on stdin and inside an event stream. Bounded: no line grows for ever. */

export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'
}

export class LineSplitter {
  readonly #max_chars: number
  readonly #decoder = new TextDecoder('utf-8')
  #rest = ''

  constructor(max_chars: number) {
    this.#max_chars = max_chars
  }

  /** The lines that this chunk completes, without their ends (LF or CRLF). */
  push(chunk: Uint8Array): readonly string[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > this.#max_chars) throw new LineTooLong(`over ${this.#max_chars} chars`)
    return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  }
}
