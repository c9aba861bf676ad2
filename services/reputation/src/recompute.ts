import { connectDb } from '@guildhall/db'
import { createLogger, loadConfig } from '@guildhall/runtime'
import { compareScores } from './compare-scores.ts'
import { ReputationConfig } from './config.ts'

/**
 * `make verify-reputation`: computes every score anew from its rows and compares it with the one
 * that is kept. One line of JSON per difference, and one with the totals; exit code 1 if any.
 */
const config = loadConfig(ReputationConfig, process.env)
const log = createLogger({
  service: 'reputation-recompute',
  level: config.LOG_LEVEL,
  destination: process.stderr,
})
const db = connectDb(config.DATABASE_URL, { log, max: 1 })
try {
  const { scores, evidence, differences, found } = await compareScores(db)
  for (const difference of found) process.stdout.write(`${JSON.stringify(difference)}\n`)
  process.stdout.write(`${JSON.stringify({ scores, evidence, differences })}\n`)
  process.exitCode = differences === 0 ? 0 : 1
} finally {
  await db.destroy()
}
