/** Answers travel in one message of the bus, so a list is cut by size as well as by count. */

const ANSWER_MAX_BYTES = 600_000

/** As many as fit, at least one. */
export const fitting = <T>(items: readonly T[]): readonly T[] => {
  let bytes = 0
  const end = items.findIndex((item, i) => {
    bytes += Buffer.byteLength(JSON.stringify(item))
    return i > 0 && bytes > ANSWER_MAX_BYTES
  })
  return end === -1 ? items : items.slice(0, end)
}
