import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processIdentity } from './managed-process.ts'

const PREFIX = 'guildhall-test'
const NAME = new RegExp(`^${PREFIX}-[a-z-]+-(\\d+)-`)

const mine = new Set<string>()

const remove = (path: string): void => rmSync(path, { recursive: true, force: true })

// A test process that was killed could not tidy up. Its directories carry its pid, so the next
// run finds them.
const sweepLeftovers = (): void => {
  for (const name of readdirSync(tmpdir())) {
    const pid = NAME.exec(name)?.[1]
    if (pid === undefined || processIdentity(Number(pid)) !== undefined) continue
    const path = join(tmpdir(), name)
    try {
      if (lstatSync(path).uid === process.getuid?.()) remove(path)
    } catch {
      // Another test process swept it first.
    }
  }
}

/** A new empty directory, removed when this process ends. `what`: lower-case letters and dashes. */
export const temporaryDirectory = (what: string): string => {
  if (mine.size === 0) {
    sweepLeftovers()
    process.on('exit', () => {
      for (const path of mine) remove(path)
    })
  }
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}-${what}-${process.pid}-`))
  // Traversable, not listable: as root, PostgreSQL runs as another user below this directory.
  chmodSync(path, 0o711)
  mine.add(path)
  return path
}
