import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTodo, RE_RING_AFTER_MS } from '@guildhall/contracts'
import { temporaryDirectory, waitFor } from '@guildhall/testing'
import t from 'tap'
import { firstOwner } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'
import { SETTLING, settledStream } from './support/settled-stream.ts'

/**
 * Hours pass here by a clock that runs ahead. Leases follow the clock of the bus, which no test can
 * move; the oldest server that we support does not tell its time, so there the service's own holds.
 */

const clock_file = join(temporaryDirectory('clock'), 'offset')
const system = await runningSystem(t, {
  nats: { binary: '2.9' },
  env: { tasks: { CLOCK_OFFSET_FILE: clock_file } },
})

t.test('D8 what nobody claims is rung again four times, and then no more', async (t) => {
  const agent = await firstOwner(system).vend({ queues: ['ignored', 'other', SETTLING] })
  const stream = await settledStream(t, system.mcp_urls[0] ?? '', agent)
  const { id } = await agent.call(createTodo, { queue: 'ignored', title: 'for nobody' })
  await stream.untilRung(id)
  const [tasks] = system.services.tasks
  const at = async (offset_ms: number): Promise<void> => {
    writeFileSync(clock_file, `${offset_ms}`)
    // A running process does not believe a clock that jumps; one that starts takes it as it is.
    await tasks?.restart()
  }
  for (const [i, after_ms] of RE_RING_AFTER_MS.entries()) {
    await at(after_ms + 1_000)
    await waitFor(() => stream.rung('ignored').length === i + 2, { what: `ring ${i + 2}` })
  }

  await at(48 * 3_600_000)
  // A todo that is due in a moment is rung by the same sweep that would ring for the other.
  const not_before = new Date(Date.now() + 48 * 3_600_000 + 1_500).toISOString()
  const later = await agent.call(createTodo, { queue: 'other', title: 'due soon', not_before })
  await stream.untilRung(later.id)
  t.strictSame(stream.rung('ignored'), [id, id, id, id, id])
})
