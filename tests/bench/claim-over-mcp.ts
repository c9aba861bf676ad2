import type { Bench, Benchmark } from './benchmark.ts'
import { startRpcClaims } from './claims-arm.ts'
import { compare } from './compare.ts'
import { startEcho, startGatewayLoad } from './echo-arm.ts'
import type { Guildhall } from './guildhall.ts'
import type { Arm } from './measure.ts'
import { claimPlan, FILL_WORKERS, WORKERS } from './plan.ts'

const QUEUE = 'mcp'

const startClaims = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const { system, settle } = guildhall
  const load = await startGatewayLoad(bench, guildhall)
  const rpc = await startRpcClaims(bench, guildhall)
  return {
    label: 'gateway claim_next, complete',
    processes: {
      gateway: system.services['mcp-gateway'][0]?.pid ?? -1,
      tasks: system.services.tasks[0]?.pid ?? -1,
      nats: system.nats.pid,
      postgres: system.postgres.pid,
      load: load.pid,
    },
    prepare: async (calls) => {
      // Each worker may end on a claim, whose completion is then no longer counted.
      const operations = Math.ceil(calls / 2) + WORKERS
      await rpc.call('fill', { queue: QUEUE, operations, workers: FILL_WORKERS })
      await settle()
    },
    run: (operations) =>
      bench.profile(['mcp-gateway', 'tasks'], () =>
        load.call('claims', { operations, queue: QUEUE }),
      ),
    settle,
  }
}

/** Real work through the front door, against a server that does none. */
export const claimOverMcp: Benchmark = {
  name: 'claim-mcp',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    return await compare(bench, claimPlan(bench.quick), [
      {
        title: 'claim_next and complete calls / SDK echo',
        target: { kind: 'at_least', limit: 0.7, unit: 'x' },
        ours: await startClaims(bench, guildhall),
        reference: await startEcho(bench, guildhall),
      },
    ])
  },
}
