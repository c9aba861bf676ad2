import {
  appendFileSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs'

const MAX_BYTES = 50 * 1024 * 1024

/** Open for appending: a service writes into it directly, so logging costs no copy through us. */
export const openLog = (path: string): number => openSync(path, 'a', 0o640)

export const appendLine = (path: string, line: string): void =>
  appendFileSync(path, `${line}\n`, { mode: 0o640 })

/** The supervisor's own log, in the same shape as that of the services. */
export const logEvent = (path: string, msg: string, details: Record<string, unknown> = {}): void =>
  appendLine(
    path,
    JSON.stringify({ level: 30, time: Date.now(), name: 'supervisor', msg, ...details }),
  )

/**
 * Moves a log that has grown too large aside. Its writer keeps the file open, so it is copied and
 * emptied in place; a line written in between can be lost, which development can bear.
 */
export const rotateLog = (path: string): void => {
  if (!existsSync(path) || statSync(path).size < MAX_BYTES) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path)
}

export const lastLines = (path: string, count: number): string => {
  if (!existsSync(path)) return ''
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
}
