import { getDefaultLease } from '@guildhall/contracts'
import type { Benchmark } from './benchmark.ts'
import { compare } from './compare.ts'
import { startEcho, startGatewayLoad } from './echo-arm.ts'
import { callPlan } from './plan.ts'

/** What the gateway costs, credential and all, for a call that it answers itself. */
export const gatewayCall: Benchmark = {
  name: 'gateway-call',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const load = await startGatewayLoad(bench, guildhall)
    const tool = getDefaultLease.name
    return await compare(bench, callPlan(bench.quick), [
      {
        title: `authenticated tools/call of ${tool} / SDK echo`,
        target: { kind: 'at_least', limit: 2, unit: 'x' },
        ours: {
          label: `gateway ${tool}`,
          processes: {
            gateway: guildhall.system.services['mcp-gateway'][0]?.pid ?? -1,
            load: load.pid,
          },
          run: (operations) =>
            bench.profile(['mcp-gateway'], () =>
              load.call('calls', { operations, tool, args: {} }),
            ),
        },
        reference: await startEcho(bench, guildhall),
      },
    ])
  },
}
