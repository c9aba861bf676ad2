// `make logs`: the end of every log, then what is added, in readable form.
// Arguments: names of services for only those; --no-follow to stop at the end.
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { logFile } from './layout.ts'
import { lastLines } from './log-file.ts'
import { readOptions } from './options.ts'
import { prettyLine } from './pretty-line.ts'

const FIRST_LINES = 50
const POLL_MS = 300
const CHUNK_BYTES = 256 * 1024

interface Tail {
  name: string
  path: string
  position: number
  rest: string
  decoder: StringDecoder
}

const print = (name: string, line: string): void => {
  if (line !== '') console.log(prettyLine(name, line))
}

const openTail = (name: string, path: string): Tail => {
  for (const line of lastLines(path, FIRST_LINES).split('\n')) print(name, line)
  return { name, path, position: statSync(path).size, rest: '', decoder: new StringDecoder('utf8') }
}

const readNew = (tail: Tail): void => {
  const { size } = statSync(tail.path)
  // Emptied by the rotation.
  if (size < tail.position) tail.position = 0
  const file = openSync(tail.path, 'r')
  try {
    while (tail.position < size) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - tail.position))
      const count = readSync(file, chunk, 0, chunk.length, tail.position)
      if (count === 0) break
      tail.position += count
      const lines = (tail.rest + tail.decoder.write(chunk.subarray(0, count))).split('\n')
      tail.rest = lines.pop() ?? ''
      for (const line of lines) print(tail.name, line)
    }
  } finally {
    closeSync(file)
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'no-follow': { type: 'boolean' }, root: { type: 'string' } },
})
const { layout } = readOptions(values.root === undefined ? [] : ['--root', values.root], {})

const wantedLogs = (): string[] => {
  if (positionals.length > 0) return positionals
  if (!existsSync(layout.log)) return []
  const files = readdirSync(layout.log).filter((file) => file.endsWith('.log'))
  return files.map((file) => file.slice(0, -'.log'.length)).sort()
}

const tails = new Map<string, Tail>()

const follow = (): void => {
  for (const name of wantedLogs()) {
    const path = logFile(layout, name)
    const tail = tails.get(name)
    if (tail !== undefined) readNew(tail)
    else if (existsSync(path)) tails.set(name, openTail(name, path))
  }
}

follow()
if (tails.size === 0) console.error(`No logs in ${layout.log} yet.`)
while (values['no-follow'] !== true) {
  await sleep(POLL_MS)
  follow()
}
