import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '@guildhall/testing'
import { quantile } from './measure.ts'

const WRITES = 200
const BYTES = 1_024

/** What a sync costs where the servers keep their data: the floor of everything that is durable. */
export const syncCost = (): { readonly p50: number; readonly p99: number } => {
  const file = openSync(join(temporaryDirectory('bench-disk'), 'probe'), 'w')
  const block = Buffer.alloc(BYTES, 1)
  const durations_ms = Array.from({ length: WRITES }, () => {
    writeSync(file, block)
    const begun_ms = performance.now()
    fsyncSync(file)
    return performance.now() - begun_ms
  })
  closeSync(file)
  return { p50: quantile(durations_ms, 0.5), p99: quantile(durations_ms, 0.99) }
}
