import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { natsBinary } from '@guildhall/testing'
import { acceptWebhook } from './accept-webhook.ts'
import { type Bench, type Benchmark, isMet, type Row } from './benchmark.ts'
import { claimAtDepth } from './claim-at-depth.ts'
import { claimOverMcp } from './claim-over-mcp.ts'
import { claimOverRpc } from './claim-over-rpc.ts'
import { syncCost } from './disk.ts'
import { gatewayCall } from './gateway-call.ts'
import { type Guildhall, startGuildhall } from './guildhall.ts'
import { jobQueues } from './job-queues.ts'
import { WORKERS } from './plan.ts'
import { createProfiler, type ProfilerSwitch } from './profile.ts'
import { machine, paint, renderTable, resultOf } from './report.ts'
import { ringAfterWebhook } from './ring-after-webhook.ts'

const benchmarks: readonly Benchmark[] = [
  claimOverRpc,
  gatewayCall,
  claimOverMcp,
  acceptWebhook,
  ringAfterWebhook,
  claimAtDepth,
  jobQueues,
]

const USAGE = `Usage: node tests/dist/bench/run.js [--quick] [--only NAME]... [--no-fail] [--profile]

Measures Guildhall against references in the same run; writes bench/results.json.

  --quick      shorter rounds, a less deep queue
  --only NAME  one of ${benchmarks.map(({ name }) => name).join(', ')}; may be repeated
  --no-fail    exit with 0 although a target was missed
  --profile    also write bench/profile-<benchmark>-<service>.txt; slows the services down
`

const OUTPUT = fileURLToPath(new URL('../../../bench/', import.meta.url))

type Stop = () => Promise<void>

const stopAll = async (stops: Stop[]): Promise<void> => {
  for (const stop of stops.splice(0).reverse()) {
    await stop().catch((error: unknown) => console.error(error))
  }
}

interface Options {
  readonly quick: boolean
  readonly profiler: ProfilerSwitch | undefined
}

const started_ms = performance.now()

const say = (text: string): void => {
  const seconds = ((performance.now() - started_ms) / 1_000).toFixed(0).padStart(4)
  process.stderr.write(`${paint(process.stderr.isTTY === true)(2, `${seconds} s`)}  ${text}\n`)
}

/** Hands out the shared system and stops it at the end of the run. */
const shareGuildhall = ({ profiler }: Options, stops: Stop[]) => {
  let starting: Promise<Guildhall> | undefined
  return (): Promise<Guildhall> => {
    starting ??= startGuildhall(profiler === undefined ? {} : { env: profiler.env }).then(
      (guildhall) => {
        stops.push(guildhall.stop)
        return guildhall
      },
    )
    return starting
  }
}

const runOne = async (
  { name, run }: Benchmark,
  { quick, profiler }: Options,
  guildhall: () => Promise<Guildhall>,
): Promise<readonly Row[]> => {
  const stops: Stop[] = []
  let watched: Guildhall | undefined
  const bench: Bench = {
    quick,
    progress: (text) => say(`${name}  ${text}`),
    guildhall: async () => {
      watched = await guildhall()
      return watched
    },
    ownGuildhall: async (options) => {
      watched = await startGuildhall({
        ...options,
        ...(profiler === undefined ? {} : { env: profiler.env }),
      })
      stops.push(watched.stop)
      return watched
    },
    profile: (services, work) =>
      profiler === undefined || watched === undefined
        ? work()
        : profiler.around(watched, services, work),
    onEnd: (stop) => {
      stops.push(stop)
    },
  }
  try {
    return await run(bench)
  } finally {
    await stopAll(stops)
    for (const [service, text] of profiler?.take() ?? []) {
      writeFileSync(`${OUTPUT}profile-${name}-${service}.txt`, `${name}: ${service}\n${text}`)
    }
  }
}

const settings = async (quick: boolean) => ({
  quick,
  calls_in_flight: WORKERS,
  nats: `nats-server ${(await natsBinary()).version}, sync_interval: always`,
  postgres: 'fsync on',
  disk_sync_ms: syncCost(),
})

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      'no-fail': { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  const unknown = values.only?.find((name) => benchmarks.every((known) => known.name !== name))
  if (unknown !== undefined) {
    console.error(`There is no benchmark ${unknown}.\n\n${USAGE}`)
    return 2
  }
  mkdirSync(OUTPUT, { recursive: true })
  const options = {
    quick: values.quick,
    profiler: values.profile ? createProfiler() : undefined,
  }
  const conditions = await settings(values.quick)
  say(
    `${conditions.nats}; PostgreSQL ${conditions.postgres}; a sync takes ${conditions.disk_sync_ms.p50.toFixed(2)} ms`,
  )
  const stops: Stop[] = []
  const guildhall = shareGuildhall(options, stops)
  const rows: Row[] = []
  const results: ReturnType<typeof resultOf>[] = []
  try {
    for (const benchmark of benchmarks) {
      if (values.only !== undefined && !values.only.includes(benchmark.name)) continue
      const added = await runOne(benchmark, options, guildhall)
      rows.push(...added)
      results.push(...added.map((row) => resultOf(benchmark.name, row)))
    }
  } finally {
    await stopAll(stops)
  }
  const summary = {
    at: new Date().toISOString(),
    machine: machine(),
    settings: conditions,
    results,
  }
  writeFileSync(`${OUTPUT}results.json`, `${JSON.stringify(summary, null, 2)}\n`)
  const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined
  console.log(`\n${renderTable(rows, coloured)}\n`)
  return rows.every(isMet) || values['no-fail'] ? 0 : 1
}

// Servers and loads end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

process.exitCode = await main()
