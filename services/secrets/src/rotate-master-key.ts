import { connectDb } from '@guildhall/db'
import { createLogger } from '@guildhall/runtime'
import { loadVaultConfig, RotationConfig } from './config.ts'
import { createVault } from './envelope.ts'
import { rotateKeys } from './rotate-keys.ts'

/**
 * By hand, after a new master key was put in front of the ring of every replica. The one line on
 * stdout counts; logs go to stderr. Exit code 1: some secrets still need an older key.
 */
const config = loadVaultConfig(RotationConfig, process.env)
const log = createLogger({
  service: 'secrets-rotate',
  level: config.LOG_LEVEL,
  destination: process.stderr,
})
const db = connectDb(config.DATABASE_URL, { log, max: 1 })
try {
  const rotated = await rotateKeys(db, createVault(config.VAULT_MASTER_KEYS), log)
  process.stdout.write(`${JSON.stringify(rotated)}\n`)
  if (rotated.failed > 0) process.exitCode = 1
} catch (err) {
  log.fatal({ err }, 'the master key could not be rotated')
  process.exitCode = 1
} finally {
  await db.destroy()
}
