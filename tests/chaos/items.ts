import { z } from 'zod'
import { type Call, mayHaveHappened } from './calls.ts'

/**
 * A piece of work as its producer knows it: one signed body, or one create_todo under one key, sent
 * as often as it takes. Its name stands in brackets in the todo's title and in the payload.
 */
export interface Item {
  readonly name: string
  readonly kind: 'webhook' | 'create_todo'
  /** Ids that it was answered with. */
  readonly ids: ReadonlySet<string>
  /** Answers that called it new. */
  readonly created: number
  readonly accepted: boolean
  /** Some call for it may have had its effect. */
  readonly possible: boolean
}

const NAME = /\[([a-z]+-\d+)\]/

/** The item that a text speaks of. */
export const itemIn = (text: string): string | undefined => NAME.exec(text)?.[1]

const Accepted = z.object({ id: z.string(), created: z.union([z.int(), z.boolean()]) })

const isProduction = (call: Call): call is Call & { readonly name: Item['kind'] } =>
  call.name === 'webhook' || call.name === 'create_todo'

export const readItems = (calls: readonly Call[]): Map<string, Item> => {
  const items = new Map<string, Item & { readonly ids: Set<string> }>()
  for (const call of calls) {
    if (!isProduction(call) || call.item === undefined) continue
    const { item: name, outcome } = call
    const known = items.get(name)
    const ids = known?.ids ?? new Set<string>()
    const answer = outcome.kind === 'ok' ? Accepted.parse(outcome.value) : undefined
    if (answer !== undefined) ids.add(answer.id)
    items.set(name, {
      name,
      kind: call.name,
      ids,
      created: (known?.created ?? 0) + Number(answer?.created ?? 0),
      accepted: ids.size > 0,
      possible: known?.possible === true || mayHaveHappened(call),
    })
  }
  return items
}
