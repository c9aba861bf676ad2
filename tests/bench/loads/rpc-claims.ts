import { claimNext, complete, createTodo, type Principal } from '@guildhall/contracts'
import { drive, serveLoad } from '../load-process.ts'
import { payload } from './payload.ts'
import { connectRpc, type Rpc } from './rpc.ts'

/** Claims and completes todos of one queue by calls to the tasks service. */

interface Connect {
  readonly nats_url: string
  readonly principal: Principal
}

interface Amount {
  readonly queue: string
  readonly operations: number
  readonly workers: number
}

interface Claimed {
  readonly empty: boolean
  readonly todo?: { readonly id: string }
  readonly lease_token?: string
}

let connected: Rpc | undefined

const rpc = (): Rpc => {
  if (connected === undefined) throw new Error('connect first')
  return connected
}

/** A message that another worker has only looked at is back in a moment. */
const EMPTY_TRIES = 50

const claimOne = async (queue: string): Promise<Claimed> => {
  for (let tried = 0; tried < EMPTY_TRIES; tried += 1) {
    const claimed = (await rpc().call(claimNext, { queue })) as Claimed // its contract says so
    if (!claimed.empty) return claimed
  }
  throw new Error(`${queue} is empty`)
}

const completeOne = async ({ todo, lease_token }: Claimed): Promise<void> => {
  await rpc().call(complete, { id: todo?.id, lease_token })
}

export const steps = {
  connect: async ({ nats_url, principal }: Connect) => {
    connected = await connectRpc(nats_url, principal)
  },
  fill: async ({ queue, operations, workers }: Amount) => {
    await drive(operations, workers, async () => {
      await rpc().call(createTodo, { queue, title: 'Benchmark', payload })
      return true
    })
  },
  /** An operation is a claim and its completion. */
  drain: async ({ queue, operations, workers }: Amount) =>
    await drive(operations, workers, async () => {
      await completeOne(await claimOne(queue))
      return true
    }),
  /** Only the claims are measured; each is completed between two of them. */
  claims: async ({ queue, operations }: Amount) => {
    const latencies_ms: number[] = []
    for (let i = 0; i < operations; i += 1) {
      const begun_ms = performance.now()
      const claimed = await claimOne(queue)
      latencies_ms.push(performance.now() - begun_ms)
      await completeOne(claimed)
    }
    const seconds = latencies_ms.reduce((sum, ms) => sum + ms, 0) / 1_000
    return { operations, seconds, latencies_ms }
  },
}

export type RpcClaims = typeof steps

serveLoad(steps)
