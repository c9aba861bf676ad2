import { COMMAND_OUTPUT_MAX_BYTES } from '@guildhall/contracts'
import { OUTPUT_GAP_BYTES, OUTPUT_HEAD_BYTES, OUTPUT_TAIL_BYTES } from './limits.ts'

/** What a command writes, whatever the amount, in a bounded amount of memory. */
export interface Output {
  /** All bytes that came, kept or not. */
  readonly bytes: number
  add(chunk: Buffer): void
  text(): { readonly output: string; readonly output_truncated: boolean }
}

/**
 * Bytes that are no text become U+FFFD, as does NUL, which the database cannot hold. Such a
 * character is longer than the byte that it stands for, so there is a limit to keep here, too.
 */
const decode = (bytes: Buffer): string =>
  new TextDecoder('utf-8').decode(bytes).replaceAll('\u0000', '\uFFFD')

const cut = (text: string, max_bytes: number): string => {
  const bytes = Buffer.from(text)
  if (bytes.length <= max_bytes) return text
  let end = max_bytes
  // A continuation byte (10xxxxxx) at the cut means that its character would be split.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}

export const collectOutput = (): Output => {
  let bytes = 0
  let head: Buffer = Buffer.alloc(0)
  let tail: Buffer = Buffer.alloc(0)

  const whole = (): Buffer | undefined =>
    bytes === head.length + tail.length ? Buffer.concat([head, tail]) : undefined

  const shortened = (): string => {
    const end = tail.subarray(OUTPUT_GAP_BYTES)
    const left_out = bytes - head.length - end.length
    return `${decode(head)}\n[... ${left_out} bytes left out ...]\n${decode(end)}`
  }

  return {
    get bytes() {
      return bytes
    },
    add: (chunk) => {
      bytes += chunk.length
      const room = OUTPUT_HEAD_BYTES - head.length
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)])
      const rest = room > 0 ? chunk.subarray(room) : chunk
      if (rest.length === 0) return
      // Copied, for a piece of a chunk would keep all of it in memory.
      tail = Buffer.concat([tail, rest.subarray(-OUTPUT_TAIL_BYTES)]).subarray(-OUTPUT_TAIL_BYTES)
    },
    text: () => {
      const all = whole()
      const text = all === undefined ? shortened() : decode(all)
      const output = cut(text, COMMAND_OUTPUT_MAX_BYTES)
      return { output, output_truncated: all === undefined || output.length < text.length }
    },
  }
}
