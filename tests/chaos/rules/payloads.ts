import { z } from 'zod'
import { type Call, isOk } from '../calls.ts'
import { isClaimCall } from '../claims.ts'
import { itemIn } from '../items.ts'
import type { Violation } from '../violation.ts'

/** Whoever claims an item is given its own payload. */

const Given = z.object({
  id: z.string(),
  title: z.string(),
  payload: z.unknown(),
  payload_truncated: z.boolean().optional(),
})

const givenIn = (value: unknown) => {
  const { todo } = z.object({ todo: z.unknown().optional() }).parse(value)
  return Given.safeParse(todo ?? value).data
}

export const checkPayloads = (calls: readonly Call[]): Violation[] =>
  calls.flatMap((call): Violation[] => {
    if (!isClaimCall(call) || !isOk(call) || call.outcome.kind !== 'ok') return []
    const given = givenIn(call.outcome.value)
    // One that is read in pages afterwards is not in the answer.
    if (given === undefined || given.payload_truncated === true) return []
    const wanted = itemIn(given.title)
    const found = itemIn(JSON.stringify(given.payload ?? null))
    if (wanted === found) return []
    const message = `${given.title} came with the payload of ${found ?? 'nothing'}`
    return [{ rule: 'wrong-payload', todo_id: given.id, message, calls: [call.n] }]
  })
