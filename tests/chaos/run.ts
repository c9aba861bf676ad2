import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type ChaosResult, judge, runChaos } from './chaos-run.ts'
import { BREAK_CAS } from './stage.ts'
import { rules } from './violation.ts'

/**
 * node tests/dist/chaos/run.js [--seconds 60] [--seed N] [--without text] [--break-cas]
 * node tests/dist/chaos/run.js --check var/chaos/<seed>.jsonl
 *
 * The second form judges a history that is there already. With --break-cas the run must fail.
 */
const { values: args } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: process.env.CHAOS_SEED ?? `${Date.now() % 1_000_000}` },
    /** Leaves out the faults whose name has this in it. */
    without: { type: 'string', multiple: true, default: [] },
    'break-cas': { type: 'boolean', default: false },
    check: { type: 'string' },
  },
})

const SHOWN_MAX = 40
const began = performance.now()

const log = (text: string): void => {
  const second = ((performance.now() - began) / 1_000).toFixed(1).padStart(6)
  console.log(`${second}  ${text}`)
}

const numberIn = (name: string, text: string): number => {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`--${name} must be a positive whole number, not ${text}`)
}

const report = ({ violations, counts, faults }: ChaosResult, file: string): void => {
  console.log('\nwhat happened')
  for (const [name, count] of Object.entries(counts)) {
    console.log(`  ${name.replaceAll('_', ' ').padEnd(18)} ${String(count).padStart(7)}`)
  }
  const times = new Map<string, number>()
  for (const fault of faults) times.set(fault, (times.get(fault) ?? 0) + 1)
  for (const [fault, count] of [...times].sort()) console.log(`  ${count} x ${fault}`)
  console.log('\nverdict')
  for (const [rule, meaning] of Object.entries(rules)) {
    const found = violations.filter((violation) => violation.rule === rule).length
    console.log(
      `  ${found === 0 ? 'ok   ' : `${String(found).padStart(3)} x`}  ${rule}: ${meaning}`,
    )
  }
  for (const { rule, todo_id, message, calls } of violations.slice(0, SHOWN_MAX)) {
    const where = [todo_id, calls && `calls ${calls.join(', ')}`].filter(Boolean).join(', ')
    console.log(`\n${rule}  ${where}\n  ${message}`)
  }
  if (violations.length > SHOWN_MAX) console.log(`\nand ${violations.length - SHOWN_MAX} more`)
  console.log(`\n${violations.length === 0 ? 'PASSED' : 'FAILED'}; the history is in ${file}`)
}

const main = async (): Promise<ChaosResult> => {
  if (args.check !== undefined) {
    if (!existsSync(args.check)) throw new Error(`there is no ${args.check}`)
    const result = judge(args.check)
    report(result, args.check)
    return result
  }
  const seed = numberIn('seed', args.seed)
  const seconds = numberIn('seconds', args.seconds)
  const file = `var/chaos/${seed}.jsonl`
  log(`seed ${seed}: run it again with --seed ${seed} --seconds ${seconds}`)
  const skip = (name: string): boolean => args.without.some((text) => name.includes(text))
  const tasks_env = args['break-cas'] ? BREAK_CAS : {}
  const result = await runChaos({ seed, seconds, file, log, skip, tasks_env })
  report(result, file)
  return result
}

const { violations } = await main()
process.exitCode = violations.length === 0 ? 0 : 1
