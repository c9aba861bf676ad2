import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type NatsBinary = '2.9' | 'newest'

// Runs from libs/testing/dist/src; the script is the one that `make up` uses.
const INSTALLER = fileURLToPath(
  new URL('../../../../infra/dev/install-nats-server.sh', import.meta.url),
)
const INSTALL_TIMEOUT_MS = 180_000

const found = new Map<NatsBinary, Promise<{ path: string; version: string }>>()

const locate = async (wanted: NatsBinary): Promise<{ path: string; version: string }> => {
  const { stdout } = await run(INSTALLER, ['--version', wanted], { timeout: INSTALL_TIMEOUT_MS })
  const path = stdout.trim()
  const { stdout: banner } = await run(path, ['-v'])
  const version = /v?(\d+\.\d+\.\d+)/.exec(banner)?.[1]
  if (version === undefined) throw new Error(`cannot read a version from: ${banner}`)
  return { path, version }
}

/**
 * The path and version of nats-server, fetched on first use. GUILDHALL_TEST_NATS=2.9 makes a whole
 * test run use the old one.
 */
export const natsBinary = (
  wanted: NatsBinary = process.env.GUILDHALL_TEST_NATS === '2.9' ? '2.9' : 'newest',
): Promise<{ path: string; version: string }> => {
  const known = found.get(wanted) ?? locate(wanted)
  found.set(wanted, known)
  return known
}

/** Whether this version syncs on request before it acknowledges (`sync_interval: always`). */
export const knowsSyncAlways = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 10)
}
