import { type Operation, type OutputOf, routesOf } from '@guildhall/contracts'
import type { z } from 'zod'
import { DemoStopped } from './demo-stopped.ts'
import { bearer, request } from './request.ts'

/** The owner at the REST API, by the routes that the contract names. */
export interface Owner {
  call<Op extends Operation>(op: Op, input: z.input<Op['input']>): Promise<OutputOf<Op>>
}

/** The route for this input, which may itself say a part of it, e.g. the decision. */
const chosen = (op: Operation, input: object) => {
  const fields = new Map<string, unknown>(Object.entries(input))
  const wanted = routesOf(op).find(({ fixed = {} }) =>
    Object.entries(fixed).every(([field, value]) => fields.get(field) === value),
  )
  for (const field of Object.keys(wanted?.fixed ?? {})) fields.delete(field)
  return { wanted, fields }
}

export const ownerAt = (api_url: string, token: string): Owner => ({
  call: async (op, input) => {
    const { wanted, fields } = chosen(op, input as object) // every input is an object
    const { method = 'GET', path = '' } = wanted ?? {}
    const filled = path.replace(/^\/api/, '').replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = fields.get(name)
      fields.delete(name)
      return encodeURIComponent(`${value}`)
    })
    const body = method === 'GET' ? undefined : JSON.stringify(Object.fromEntries(fields))
    const answer = await request(method, `${api_url}${filled}`, bearer(token), body)
    if (answer.status === 200) return op.output.parse(answer.body) as OutputOf<typeof op> // just parsed
    if (answer.status === 401) {
      throw new DemoStopped(
        'The API token in the dev file is not known to the system that runs.',
        'The file may be of another installation: run `make up`, which writes it anew.',
      )
    }
    throw new DemoStopped(
      `${method} ${path} was answered with ${answer.status}: ${answer.text}`,
      'See the logs of the system with `make logs`.',
    )
  },
})
