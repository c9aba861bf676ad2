import { bold, cyan, dim, green, red, yellow } from './terminal.ts'

const LEVELS: Readonly<Record<number, string>> = {
  10: dim('TRACE'),
  20: dim('DEBUG'),
  30: green('INFO '),
  40: yellow('WARN '),
  50: red('ERROR'),
  60: red('FATAL'),
}

/** Fields that every line has and nobody reads. */
const HIDDEN = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name', 'service', 'v'])

const parse = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith('{')) return undefined
  try {
    // `as`: it starts with a brace, so it is an object.
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

const clockTime = (time: unknown): string => {
  const date = new Date(typeof time === 'number' || typeof time === 'string' ? time : Number.NaN)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(11, 23)
}

const detailOf = (err: unknown, detail: 'stack' | 'message'): string | undefined =>
  typeof err === 'object' && err !== null && detail in err
    ? // `as`: the line before has just looked.
      String((err as Record<string, unknown>)[detail])
    : undefined

/**
 * One line of a log for people: JSON lines spelled out, anything else as it is. `brief` keeps it
 * to one line, without the stack of an error.
 */
export const prettyLine = (name: string, line: string, { brief = false } = {}): string => {
  const label = cyan(name.padEnd(14))
  const record = parse(line)
  if (record === undefined) return `${label} ${line}`
  const { time, level, msg, err } = record
  const stack = brief ? undefined : detailOf(err, 'stack')
  const message = detailOf(err, 'message')
  const fields = Object.entries(record)
    .filter(([key]) => !HIDDEN.has(key) && !(key === 'err' && stack !== undefined))
    .map(([key, value]) => [key, key === 'err' ? (message ?? value) : value])
    .map(
      ([key, value]) =>
        `${dim(`${key}=`)}${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
  const levelText = LEVELS[Number(level)] ?? String(level ?? '')
  const head = [dim(clockTime(time)), label, levelText, bold(String(msg ?? '')), ...fields]
  return head.join(' ') + (stack === undefined ? '' : `\n${stack.replace(/^/gm, '    ')}`)
}
