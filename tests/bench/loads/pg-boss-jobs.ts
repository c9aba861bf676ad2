import PgBoss from 'pg-boss'
import { drive, serveLoad } from '../load-process.ts'
import { payload } from './payload.ts'

/** Fetches and completes jobs of pg-boss one by one, as an agent would. */

interface Connect {
  readonly url: string
  readonly workers: number
}

interface Amount {
  readonly operations: number
  readonly workers: number
}

const QUEUE = 'bench'
const INSERT_BATCH = 1_000

let boss: PgBoss | undefined

const current = (): PgBoss => {
  if (boss === undefined) throw new Error('connect first')
  return boss
}

export const steps = {
  connect: async ({ url, workers }: Connect) => {
    boss = new PgBoss({ connectionString: url, max: workers, schedule: false })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    await boss.createQueue(QUEUE)
  },
  fill: async ({ operations }: Amount) => {
    for (let left = operations; left > 0; left -= INSERT_BATCH) {
      const jobs = Array.from({ length: Math.min(left, INSERT_BATCH) }, () => ({
        name: QUEUE,
        data: payload,
      }))
      await current().insert(jobs)
    }
  },
  drain: async ({ operations, workers }: Amount) =>
    await drive(operations, workers, async () => {
      const [job] = await current().fetch(QUEUE, { batchSize: 1 })
      if (job === undefined) return false
      await current().complete(QUEUE, job.id)
      return true
    }),
  close: async (_input: object) => {
    await current().stop({ graceful: false, wait: true })
  },
}

export type PgBossJobs = typeof steps

serveLoad(steps)
