import { freePort, startNats, temporaryDirectory } from '@guildhall/testing'
import type { Bench, Benchmark } from './benchmark.ts'
import { startRpcClaims } from './claims-arm.ts'
import { compare } from './compare.ts'
import type { Guildhall, Queue } from './guildhall.ts'
import type { Load } from './load-process.ts'
import type { RpcClaims } from './loads/rpc-claims.ts'
import { type Arm, median } from './measure.ts'
import { FILL_WORKERS } from './plan.ts'

/** Whether a long queue makes a claim slow. */

const SHALLOW = 1_000
const DEEP = 100_000
const DEEP_QUICK = 10_000
const FILL_BATCH = 5_000

const shown = (count: number): string => count.toLocaleString('en')

const fill = async (
  { progress }: Bench,
  load: Load<RpcClaims>,
  queue: Queue,
  count: number,
): Promise<void> => {
  for (let done = 0; done < count; done += FILL_BATCH) {
    const operations = Math.min(FILL_BATCH, count - done)
    await load.call('fill', { queue, operations, workers: FILL_WORKERS })
    progress(`${queue}: ${done + operations} of ${count} pending`)
  }
}

/**
 * Filled by a server that leaves writing to the disk to the system, as 200,000 syncs would take
 * longer than everything else here. The one that is then measured on the same store syncs each.
 */
const startFilled = async (bench: Bench, deep: number): Promise<Guildhall> => {
  const store = { port: await freePort(), storeDir: temporaryDirectory('bench-depth') }
  const guildhall = await bench.ownGuildhall({ nats: { ...store, syncAlways: false } })
  const load = await startRpcClaims(bench, guildhall)
  await fill(bench, load, 'deep', deep)
  await fill(bench, load, 'shallow', SHALLOW)
  bench.progress('waiting for the projection')
  await guildhall.settle()
  bench.progress('starting nats-server anew, with sync_interval: always')
  await load.stop()
  await guildhall.system.nats.stop()
  const nats = await startNats({ ...store, syncAlways: true })
  bench.onEnd(nats.stop)
  await guildhall.reconnected()
  return guildhall
}

const arm = (
  bench: Bench,
  { settle }: Guildhall,
  load: Load<RpcClaims>,
  queue: Queue,
  depth: number,
): Arm => ({
  label: `${shown(depth)} pending`,
  processes: {},
  // As many as will be taken, so that it stays as deep as it is.
  prepare: async (operations) => {
    await load.call('fill', { queue, operations, workers: FILL_WORKERS })
    await settle()
  },
  run: (operations) =>
    bench.profile(['tasks'], () => load.call('claims', { queue, operations, workers: 1 })),
  settle,
})

export const claimAtDepth: Benchmark = {
  name: 'depth',
  run: async (bench) => {
    const deep = bench.quick ? DEEP_QUICK : DEEP
    const guildhall = await startFilled(bench, deep)
    const load = await startRpcClaims(bench, guildhall)
    const plan = {
      rounds: bench.quick ? 3 : 7,
      round_seconds: 0.5,
      first_operations: 50,
      operations_max: 400,
    }
    const rows = await compare(
      bench,
      plan,
      [
        {
          title: `latency of claim_next, ${shown(deep)} / ${shown(SHALLOW)} pending`,
          target: { kind: 'at_most', limit: 1.5, unit: 'x' },
          ours: arm(bench, guildhall, load, 'deep', deep),
          reference: arm(bench, guildhall, load, 'shallow', SHALLOW),
        },
      ],
      ({ latencies_ms }) => median(latencies_ms),
    )
    return rows.map((row) => ({ ...row, shows: 'latency' as const }))
  },
}
