import { randomUUID } from 'node:crypto'
import {
  headers as headerNames,
  type Operation,
  type Principal,
  RPC_TIMEOUT_MS,
  subjects,
} from '@guildhall/contracts'
import { connect, type NatsConnection, headers as natsHeaders } from 'nats'

/** Calls of operations over the bus, in the form in which the gateway makes them. */

export interface Rpc {
  readonly nc: NatsConnection
  /** The answer as it came: whoever measures does not pay for checking it. */
  call(op: Operation, input: object): Promise<unknown>
}

export const connectRpc = async (url: string, principal: Principal): Promise<Rpc> => {
  const nc = await connect({ servers: url, name: 'bench' })
  const principal_json = JSON.stringify(principal)
  return {
    nc,
    call: async (op, input) => {
      const fields = natsHeaders()
      fields.set(headerNames.request_id, randomUUID())
      fields.set(headerNames.principal, principal_json)
      if (op.access === 'write') {
        fields.set(headerNames.idempotency_key, JSON.stringify(randomUUID()))
      }
      fields.set(headerNames.deadline, String(Date.now() + RPC_TIMEOUT_MS))
      const answer = await nc.request(subjects.rpc(op), JSON.stringify(input), {
        timeout: RPC_TIMEOUT_MS,
        headers: fields,
      })
      const text = answer.string()
      if (answer.headers?.has(headerNames.error) === true) throw new Error(`${op.name}: ${text}`)
      return JSON.parse(text)
    },
  }
}
