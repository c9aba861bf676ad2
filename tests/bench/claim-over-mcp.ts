import type { Benchmark } from './benchmark.ts'
import { startRpcClaims } from './claims-arm.ts'
import { compare } from './compare.ts'
import { startEcho, startGatewayLoad } from './echo-arm.ts'
import { claimPlan, FILL_WORKERS, WORKERS } from './plan.ts'

/** Real work through the front door, against a server that does none. */
export const claimOverMcp: Benchmark = {
  name: 'claim-mcp',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const { system, settle } = guildhall
    const load = await startGatewayLoad(bench, guildhall)
    const rpc = await startRpcClaims(bench, guildhall)
    return await compare(
      bench,
      claimPlan(bench.quick),
      {
        label: 'gateway claim_next, complete',
        processes: {
          gateway: system.services['mcp-gateway'][0]?.pid ?? -1,
          tasks: system.services.tasks[0]?.pid ?? -1,
          nats: system.nats.pid,
          load: load.pid,
        },
        prepare: async (operations) => {
          // Each worker may end on a claim, whose completion is then no longer counted.
          const todos = Math.ceil(operations / 2) + WORKERS
          await rpc.call('fill', { queue: 'mcp', operations: todos, workers: FILL_WORKERS })
          await settle()
        },
        run: (operations) =>
          bench.profile(['mcp-gateway', 'tasks'], () =>
            load.call('claims', { operations, queue: 'mcp' }),
          ),
        settle,
      },
      [
        {
          title: 'claim_next and complete calls / SDK echo',
          target: { kind: 'at_least', limit: 0.7, unit: 'x' },
          arm: await startEcho(bench, guildhall),
        },
      ],
    )
  },
}
