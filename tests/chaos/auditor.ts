import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { AUDITOR } from './final-state.ts'
import type { Outcome } from './history.ts'
import { toOutcome } from './http.ts'
import type { World } from './world.ts'

/** Reads the state of everything: as the owner, and todo by todo as an agent. */

const Page = z.object({
  todos: z
    .array(z.object({ id: z.string(), state: z.string(), dead_letter: z.boolean() }))
    .default([]),
  next_cursor: z.string().optional(),
})
type Row = z.infer<typeof Page>['todos'][number]

const PAGE_LIMIT = 200
const TRIES_MAX = 20
const AT_ONCE = 4

interface Auditor {
  /** Every todo as listed; undefined when the list cannot be read now. */
  list(): Promise<Row[] | undefined>
  /** To be called when all is quiet. */
  audit(): Promise<void>
}

export const openAuditor = (world: World, token: string): Auditor => {
  const { system, http, history, mcp } = world

  const rest = (name: string, path: string, input: Record<string, unknown>): Promise<Outcome> => {
    const url = new URL(`${system.api_urls[0]}${path}`)
    for (const [key, value] of Object.entries(input)) url.searchParams.set(key, String(value))
    return history.record({ actor: AUDITOR, name, to: url.host, input }, async () => {
      const headers = { authorization: `Bearer ${system.owner.api_token}` }
      const sent = await http.send({ url: url.href, method: 'GET', headers, timeout_ms: 15_000 })
      return toOutcome(sent, 200)
    })
  }

  const persist = async (read: () => Promise<Outcome>): Promise<Outcome> => {
    let outcome = await read()
    for (let tried = 1; outcome.kind !== 'ok' && tried < TRIES_MAX; tried += 1) {
      await sleep(250)
      outcome = await read()
    }
    return outcome
  }

  const pages = async (name: string, path: string): Promise<Row[] | undefined> => {
    const rows: Row[] = []
    let cursor: string | undefined
    do {
      const input = { limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { cursor }) }
      const outcome = await persist(() => rest(name, path, input))
      if (outcome.kind !== 'ok') return undefined
      const page = Page.parse(outcome.value)
      rows.push(...page.todos)
      cursor = page.next_cursor
    } while (cursor !== undefined)
    return rows
  }

  const list = (): Promise<Row[] | undefined> => pages('list_todos', '/todos')

  const look = (id: string): Promise<Outcome> =>
    persist(() =>
      mcp.call(system.mcp_urls[1] ?? system.mcp_urls[0] ?? '', token, {
        actor: AUDITOR,
        name: 'get_todo',
        input: { id, attempts_limit: 50 },
      }),
    )

  return {
    list,
    audit: async () => {
      history.mark('audit')
      const ids = ((await list()) ?? []).map((row) => row.id)
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let id = ids.pop(); id !== undefined; id = ids.pop()) await look(id)
        }),
      )
      await pages('list_webhook_events', '/webhook-events')
    },
  }
}
