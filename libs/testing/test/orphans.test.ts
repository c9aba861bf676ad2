import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { processIdentity, waitFor } from '../src/index.ts'

t.test('no server or service outlives a test process that was killed', async (t) => {
  const entry = join(t.testdir(), 'fake.mjs')
  writeFileSync(entry, `console.log('up'); setInterval(() => {}, 60_000)`)
  const parentEntry = fileURLToPath(new URL('./orphan-parent.js', import.meta.url))
  const parent = spawn(process.execPath, [parentEntry, entry], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  // `as`: the fixture beside this file prints exactly this.
  const pids = JSON.parse(line) as number[]
  t.equal(pids.filter((pid) => processIdentity(pid) !== undefined).length, 3)

  parent.kill('SIGKILL')

  const allEnded = () => pids.every((pid) => processIdentity(pid) === undefined)
  t.ok(await waitFor(allEnded, { what: 'the children of a killed process to end' }))
})
