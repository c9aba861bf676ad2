#!/usr/bin/env node
import { once } from 'node:events'
import { Bridge } from './bridge/bridge.ts'
import { LineSplitter } from './bridge/lines.ts'

/**
 * guildhall-mcp: for clients that can only start a program and talk to it over stdio. The token
 * comes from the environment alone: arguments are readable by every process of the machine.
 */

const LINE_MAX_CHARS = 4 * 1024 * 1024
const IN_FLIGHT_MAX = 64
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

const warn = (text: string): void => {
  process.stderr.write(`guildhall-mcp: ${text}\n`)
}

const url = process.env.GUILDHALL_MCP_URL ?? 'http://127.0.0.1:8080/mcp'
const token = process.env.GUILDHALL_TOKEN

const readUrl = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)

const main = async (): Promise<void> => {
  const target = readUrl(url)
  if (target === undefined || token === undefined || token === '') {
    warn('set GUILDHALL_TOKEN to the credential of your endpoint, and GUILDHALL_MCP_URL to its URL')
    process.exitCode = 2
    return
  }
  if (target.protocol === 'http:' && !LOOPBACK.has(target.hostname)) {
    warn('the credential travels unencrypted: use an https URL')
  }
  const bridge = new Bridge({
    url,
    token,
    warn,
    write: (line) => void process.stdout.write(`${line}\n`),
  })
  // The client closed its end: nobody reads what would still come.
  process.stdout.on('error', () => process.exit(0))
  const splitter = new LineSplitter(LINE_MAX_CHARS)
  const working = new Set<Promise<void>>()
  for await (const chunk of process.stdin) {
    for (const line of splitter.push(chunk)) {
      const work = bridge.handle(line).finally(() => working.delete(work))
      working.add(work)
      if (working.size >= IN_FLIGHT_MAX) await Promise.race(working)
    }
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
  }
  bridge.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(0))

main().then(
  () => process.exit(),
  (error: unknown) => {
    warn(String(error))
    process.exit(1)
  },
)
