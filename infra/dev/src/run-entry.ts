import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { spawnManaged } from '@guildhall/testing'

const DEADLINE_MS = 120_000
const SHOWN_LINES = 25

export const requireBuilt = (root: string, entry: string): void => {
  if (!existsSync(join(root, entry))) {
    throw new Error(`${entry} does not exist. Build first: npm ci && npx tsc -b`)
  }
}

/** Runs a compiled one-shot program to its end, and answers what it wrote to stdout. */
export const runEntry = async (
  root: string,
  entry: string,
  env: NodeJS.ProcessEnv,
): Promise<string[]> => {
  requireBuilt(root, entry)
  const stdout: string[] = []
  const program = spawnManaged({
    name: entry,
    command: process.execPath,
    args: ['--enable-source-maps', join(root, entry)],
    env,
    cwd: root,
    deathSignal: 'SIGTERM',
    onLine: (line, stream) => {
      if (stream === 'stdout') stdout.push(line)
    },
  })
  const timer = setTimeout(() => void program.kill(), DEADLINE_MS)
  const { code, signal } = await program.exited
  clearTimeout(timer)
  if (code !== 0) {
    const output = program.logs().split('\n').slice(-SHOWN_LINES).join('\n')
    throw new Error(`${entry} failed (${signal ?? code}):\n${output}`)
  }
  return stdout
}
