// `make down`: ends the supervisor and what it started, and nothing else. The data stays in var/.
import { readOptions } from './options.ts'
import { clearState, endProcesses, readState } from './state.ts'
import { red } from './terminal.ts'

// The supervisor lets the services drain, then the servers write down what they hold.
const SUPERVISOR_DEADLINE_MS = 100_000

const main = async (): Promise<void> => {
  const { layout } = readOptions(process.argv.slice(2), process.env)
  const state = readState(layout)
  if (state === undefined) {
    console.log('Guildhall is not running.')
    return
  }
  const supervisor = await endProcesses([state.supervisor], SUPERVISOR_DEADLINE_MS)
  // Of a supervisor that was killed before. One that ended in order has left none.
  const children = await endProcesses(state.children)
  clearState(layout)
  const ended = [...supervisor, ...children].map(({ name, pid }) => `${name} (${pid})`)
  console.log(
    ended.length === 0
      ? 'Guildhall was not running any more.'
      : `Guildhall is stopped. Its data stays in ${layout.var}.`,
  )
}

try {
  await main()
} catch (error) {
  console.error(red(error instanceof Error ? error.message : String(error)))
  process.exitCode = 1
}
