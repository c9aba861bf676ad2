import pg from 'pg'
import type { Bench, Benchmark } from './benchmark.ts'
import { claimsArm, startRpcClaims } from './claims-arm.ts'
import { compare } from './compare.ts'
import type { Guildhall } from './guildhall.ts'
import { startLoad } from './load-process.ts'
import type { GraphileJobs } from './loads/graphile-jobs.ts'
import type { PgBossJobs } from './loads/pg-boss-jobs.ts'
import type { Arm } from './measure.ts'
import { claimPlan, WORKERS } from './plan.ts'

const createDatabase = async ({ system }: Guildhall, name: string): Promise<string> => {
  const client = new pg.Client({ connectionString: system.postgres.adminUrl })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return system.postgres.url(name)
}

const startPgBoss = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const load = startLoad<PgBossJobs>('pg-boss-jobs')
  bench.onEnd(load.stop)
  const url = await createDatabase(guildhall, 'bench_pg_boss')
  await load.call('connect', { url, workers: WORKERS })
  return {
    label: 'pg-boss',
    processes: { postgres: guildhall.system.postgres.pid, load: load.pid },
    prepare: (operations) => load.call('fill', { operations, workers: WORKERS }),
    run: (operations) => load.call('drain', { operations, workers: WORKERS }),
  }
}

const startGraphile = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const load = startLoad<GraphileJobs>('graphile-jobs')
  bench.onEnd(load.stop)
  const url = await createDatabase(guildhall, 'bench_graphile')
  await load.call('connect', { url })
  return {
    label: 'graphile-worker',
    processes: { postgres: guildhall.system.postgres.pid, load: load.pid },
    prepare: (operations) => load.call('fill', { operations, workers: WORKERS }),
    run: (operations) => load.call('drain', { operations, workers: WORKERS }),
  }
}

/** Against what one would otherwise take for a queue, on the PostgreSQL that we have anyway. */
export const jobQueues: Benchmark = {
  name: 'job-queues',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const rpc = await startRpcClaims(bench, guildhall)
    const ours = claimsArm(bench, guildhall, rpc, 'jobs')
    return await compare(bench, claimPlan(bench.quick), [
      {
        title: 'claim + complete / pg-boss fetch + complete',
        target: { kind: 'more_than', limit: 1, unit: 'x' },
        ours,
        reference: await startPgBoss(bench, guildhall),
      },
      {
        title: 'claim + complete / graphile-worker get + complete',
        target: { kind: 'none' },
        ours,
        reference: await startGraphile(bench, guildhall),
      },
    ])
  },
}
