import { test } from 'tap'
import { runChaos } from './chaos-run.ts'

/** The short run, for every change. `make chaos` runs the same for as long as one likes. */

const SECONDS = 26
const DRAIN_MAX_MS = 90_000

test('kills, pauses and clock jumps break no promise of the queue', async (t) => {
  t.setTimeout(300_000)
  const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000)
  const log = (text: string): void => t.comment(text)
  log(`seed ${seed}: run it again with CHAOS_SEED=${seed}`)
  const file = `var/chaos/${seed}.jsonl`
  const options = { seed, seconds: SECONDS, file, log, drain_max_ms: DRAIN_MAX_MS }
  const { violations, counts, faults } = await runChaos(options)

  t.strictSame(violations, [], `the history is in ${file}`)

  // That nothing broke means little if nothing was tried.
  t.match(faults, /kill -9 nats-server/)
  t.match(faults, /kill -9 postgres/)
  const enough = {
    faults: 6,
    accepted: 60,
    duplicates: 8,
    claims: 70,
    completions: 50,
    heartbeats: 5,
    lapses: 5,
    takeovers: 2,
    late_refused: 2,
    unanswered: 5,
  } as const
  for (const [name, least] of Object.entries(enough)) {
    const count = counts[name as keyof typeof enough] // entries forgets the names of its keys
    t.ok(count >= least, `${name}: ${count} of at least ${least}`)
  }
})
