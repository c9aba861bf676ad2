import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/**
 * Loaded into each service by `--profile`: SIGUSR2 begins a CPU profile, the next one writes it to
 * $BENCH_PROFILE_DIR/<pid>-<n>.json. A file `<pid>-<n>.started` says that the profile runs.
 */

const SAMPLING_US = 250

const directory = process.env.BENCH_PROFILE_DIR ?? '.'
const session = new Session()
session.connect()
let number = 0
let running = false

const toggle = async (): Promise<void> => {
  const path = `${directory}/${process.pid}-${number}`
  if (!running) {
    running = true
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_US })
    await session.post('Profiler.start')
    writeFileSync(`${path}.started`, '')
    return
  }
  running = false
  number += 1
  const { profile } = await session.post('Profiler.stop')
  writeFileSync(`${path}.part`, JSON.stringify(profile))
  renameSync(`${path}.part`, `${path}.json`)
}

process.on('SIGUSR2', () => {
  void toggle()
})
