import { EventEmitter } from 'node:events'
import { Logger, makeWorkerUtils, run, type WorkerEvents, type WorkerUtils } from 'graphile-worker'
import { serveLoad } from '../load-process.ts'
import { payload } from './payload.ts'

/** Lets graphile-worker work off jobs that do nothing: it gets and completes them in its own loop. */

interface Connect {
  readonly url: string
}

interface Amount {
  readonly operations: number
  readonly workers: number
}

const TASK = 'bench'
/** Its function for many jobs at once; the columns after the payload keep their defaults. */
const ADD_JOBS = `
  select count(*) from graphile_worker.add_jobs(array(
    select row($1::text, $2::json, null, null, null, null, null, null)::graphile_worker.job_spec
    from generate_series(1, $3::int)))`

const silent = new Logger(() => () => undefined)

let opened: (Connect & { readonly utils: WorkerUtils }) | undefined

const current = () => {
  if (opened === undefined) throw new Error('connect first')
  return opened
}

/** From the question for a job to its completion, by worker, as its events tell. */
const watch = (events: WorkerEvents, operations: number) => {
  const latencies_ms: number[] = []
  const begun_ms = new Map<string, number>()
  const finished = new Promise<void>((resolve, reject) => {
    events.on('worker:getJob:start', ({ worker }) => {
      begun_ms.set(worker.workerId, performance.now())
    })
    events.on('job:complete', ({ worker, error }) => {
      if (error !== null) reject(error)
      latencies_ms.push(performance.now() - (begun_ms.get(worker.workerId) ?? Number.NaN))
      if (latencies_ms.length === operations) resolve()
    })
  })
  return { latencies_ms, finished }
}

export const steps = {
  connect: async ({ url }: Connect) => {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
    await utils.migrate()
    opened = { url, utils }
  },
  fill: async ({ operations }: Amount) => {
    const { utils } = current()
    await utils.withPgClient((client) => client.query(ADD_JOBS, [TASK, payload, operations]))
  },
  drain: async ({ operations, workers }: Amount) => {
    const events: WorkerEvents = new EventEmitter()
    const { latencies_ms, finished } = watch(events, operations)
    const begun_ms = performance.now()
    const runner = await run({
      connectionString: current().url,
      concurrency: workers,
      maxPoolSize: workers,
      noHandleSignals: true,
      logger: silent,
      events,
      taskList: { [TASK]: async () => undefined },
    })
    await finished
    const seconds = (performance.now() - begun_ms) / 1_000
    await runner.stop()
    return { operations, seconds, latencies_ms }
  },
}

export type GraphileJobs = typeof steps

serveLoad(steps)
