/**
 * What the demo says, in a form that reads well at 100 columns. Colours only on a terminal that has
 * not asked for none (https://no-color.org).
 */

const COLUMNS_MAX = 100
const INDENT = 5

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
type Style = keyof typeof codes

interface TerminalOptions {
  readonly write: (text: string) => void
  readonly color: boolean
  readonly columns: number | undefined
}

export interface Terminal {
  title(text: string, subtitle: string): void
  step(title: string): void
  /** What is sent, in short. */
  asked(what: string, details?: string): void
  /** What came back, in short. */
  answered(status: string, details: string): void
  /** A refusal that the story is about. */
  refused(status: string, details: string): void
  /** Something that happens by itself. */
  happened(what: string): void
  /** What a notification says, as it arrived. */
  quoted(lines: readonly string[]): void
  /** One sentence: why this matters. */
  meaning(text: string): void
  table(header: readonly string[], rows: readonly (readonly string[])[]): void
  plain(text?: string): void
  failed(text: string): void
}

/** Breaks at blanks; a word that is too long for a line stands on its own. */
const wrap = (text: string, width: number): string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

const tableLines = (header: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const widths = header.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, i) => (cells[i] ?? '').padEnd(width))
      .join('  ')
      .trimEnd()
  return [line(header), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)]
}

export const createTerminal = ({ write, color, columns }: TerminalOptions): Terminal => {
  const width = Math.min(columns ?? COLUMNS_MAX, COLUMNS_MAX) - INDENT
  const indent = ' '.repeat(INDENT)
  let steps = 0
  const paint = (style: Style, text: string): string =>
    color ? `\u001b[${codes[style]}m${text}\u001b[0m` : text
  const print = (text = ''): void => write(`${text}\n`)
  const arrow = (sign: string, style: Style, first: string, rest: string): void => {
    const room = width - sign.length - first.length - 3
    const tail = rest === '' ? '' : `  ${cut(rest, room)}`
    print(`${indent}${paint(style, sign)} ${paint(style, first)}${tail}`)
  }
  return {
    title: (text, subtitle) => {
      print()
      print(paint('bold', text))
      for (const line of wrap(subtitle, width + INDENT)) print(line)
    },
    step: (title) => {
      steps += 1
      print()
      print(`${paint('bold', `${steps}.`.padStart(3))}  ${paint('bold', title)}`)
    },
    asked: (what, details = '') => arrow('→', 'cyan', what, details),
    answered: (status, details) => arrow('←', 'green', status, details),
    refused: (status, details) => arrow('←', 'yellow', status, details),
    happened: (what) => arrow('•', 'yellow', what, ''),
    quoted: (lines) => {
      for (const line of lines) print(`${indent}${paint('yellow', '│')} ${cut(line, width - 2)}`)
    },
    meaning: (text) => {
      for (const line of wrap(text, width)) print(`${indent}${paint('dim', line)}`)
    },
    table: (header, rows) => {
      for (const line of tableLines(header, rows)) print(`${indent}${line}`)
    },
    plain: print,
    failed: (text) => {
      print()
      for (const line of text.split('\n')) print(paint('red', line))
    },
  }
}
