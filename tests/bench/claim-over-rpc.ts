import type { Benchmark } from './benchmark.ts'
import { claimsArm, startRpcClaims } from './claims-arm.ts'
import { compare } from './compare.ts'
import { startLoad } from './load-process.ts'
import type { BareClaims } from './loads/bare-claims.ts'
import { claimPlan, FILL_WORKERS, WORKERS } from './plan.ts'
import { prepareBareWork } from './work-samples.ts'

/** What the tasks service costs on top of JetStream itself. */
export const claimOverRpc: Benchmark = {
  name: 'claim-rpc',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const { nats } = guildhall.system
    const rpc = await startRpcClaims(bench, guildhall)
    const bare = startLoad<BareClaims>('bare-claims')
    bench.onEnd(bare.stop)
    const names = await prepareBareWork(guildhall, 'rpc')
    await bare.call('connect', { nats_url: nats.url, ...names })
    return await compare(bench, claimPlan(bench.quick), [
      {
        title: 'claim + complete over RPC / the same steps in bare nats.js',
        target: { kind: 'at_least', limit: 0.7, unit: 'x' },
        ours: claimsArm(bench, guildhall, rpc, 'rpc'),
        reference: {
          label: 'bare nats.js',
          processes: { nats: nats.pid, load: bare.pid },
          prepare: (operations) => bare.call('fill', { operations, workers: FILL_WORKERS }),
          run: (operations) => bare.call('drain', { operations, workers: WORKERS }),
        },
      },
    ])
  },
}
