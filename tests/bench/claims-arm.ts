import type { Bench } from './benchmark.ts'
import type { Guildhall, Queue } from './guildhall.ts'
import { type Load, startLoad } from './load-process.ts'
import type { RpcClaims } from './loads/rpc-claims.ts'
import type { Arm } from './measure.ts'
import { FILL_WORKERS, WORKERS } from './plan.ts'

export const startRpcClaims = async (
  bench: Bench,
  { system, principal }: Guildhall,
): Promise<Load<RpcClaims>> => {
  const load = startLoad<RpcClaims>('rpc-claims')
  bench.onEnd(load.stop)
  await load.call('connect', { nats_url: system.nats.url, principal })
  return load
}

/** Claim and completion by calls to the tasks service, as the gateway makes them. */
export const claimsArm = (
  bench: Bench,
  { system, settle }: Guildhall,
  load: Load<RpcClaims>,
  queue: Queue,
): Arm => ({
  label: 'tasks over RPC',
  processes: {
    tasks: system.services.tasks[0]?.pid ?? -1,
    nats: system.nats.pid,
    postgres: system.postgres.pid,
    load: load.pid,
  },
  prepare: async (operations) => {
    await load.call('fill', { queue, operations, workers: FILL_WORKERS })
    await settle()
  },
  run: (operations) =>
    bench.profile(['tasks'], () => load.call('drain', { queue, operations, workers: WORKERS })),
  settle,
})
