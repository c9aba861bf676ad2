import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DemoStopped } from './demo-stopped.ts'
import { readDevFile } from './dev-file.ts'
import { tellGoalStory } from './goal-story.ts'
import { tellStory } from './story.ts'
import { createTerminal } from './terminal.ts'

/** `make demo`: tells the story of Guildhall against the system that `make up` started. */

const DEV_FILE = fileURLToPath(new URL('../../../var/dev.json', import.meta.url))

const { values: args } = parseArgs({ options: { 'dev-json': { type: 'string' } } })
const { NO_COLOR = '', TERM, GUILDHALL_DEV_JSON } = process.env

const terminal = createTerminal({
  write: (text) => void process.stdout.write(text),
  color: process.stdout.isTTY === true && NO_COLOR === '' && TERM !== 'dumb',
  columns: process.stdout.columns,
})

/** Nobody listens: said by fetch in the cause of its error, by the SDK's client likewise. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === 'ECONNREFUSED') || isUnreachable(error.cause))

const explain = (error: unknown): string => {
  if (error instanceof DemoStopped) return `${error.message}\n${error.what_to_do}`
  if (isUnreachable(error)) {
    return 'The system does not answer at the addresses in the dev file.\nStart it with `make up`, and then run `make demo` again.'
  }
  const text = error instanceof Error ? error.message : String(error)
  return `The demo stopped: ${text}\nSee the logs of the system with \`make logs\`.`
}

const made: (() => Promise<unknown>)[] = []

/** The last made goes first. All are tried, whatever one of them says. */
const undo = async (): Promise<void> => {
  const failures: unknown[] = []
  for (const step of made.splice(0).reverse()) await step().catch((error) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, 'not everything could be cleaned up')
}

process.once('SIGINT', () => {
  void undo().finally(() => process.exit(130))
})

const run = async (): Promise<void> => {
  const system = readDevFile(args['dev-json'] ?? GUILDHALL_DEV_JSON ?? DEV_FILE)
  const started = performance.now()
  terminal.title(
    'Guildhall in one minute',
    'An owner lets an agent work, events come in, a worker dies, and the work is still done once.',
  )
  try {
    await tellStory(terminal, system, made)
    terminal.title(
      'Chapter two: a goal',
      'Agents plan and work, the owner decides, and every cent and every verdict is accounted for.',
    )
    await tellGoalStory(terminal, system, made)
  } finally {
    await undo()
  }
  const took = ((performance.now() - started) / 1_000).toFixed(1)
  terminal.plain()
  terminal.plain('Where to look next')
  terminal.plain(`  the owner's API     ${system.api_url}/openapi.json`)
  terminal.plain('  the credentials     var/dev.json (login link, API token, agent token)')
  terminal.plain('  the logs            make logs')
  terminal.plain('  the same, unkindly  make chaos: kill -9 of everything, checked by a history')
  terminal.plain()
  terminal.plain(
    `The webhook is deleted, the endpoints revoked, the new agents gone. That took ${took} s.`,
  )
}

try {
  await run()
  process.exit(0)
} catch (error) {
  terminal.failed(explain(error))
  process.exit(1)
}
