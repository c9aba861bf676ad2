import { cpus, platform, release, totalmem } from 'node:os'
import { isMet, type Row, type Target } from './benchmark.ts'
import type { Summary } from './measure.ts'

/** The table for people. The file for programs holds the same and more. */

const COLUMNS = ['benchmark', 'ours', 'reference', 'ratio', 'target', 'verdict'] as const

const digits = (value: number): number => (value >= 100 ? 0 : value >= 10 ? 1 : 2)
const ms = (value: number): string => value.toFixed(digits(value))
const count = (value: number): string => Math.round(value).toLocaleString('en')

const speed = ({ per_second, p50_ms, p99_ms }: Summary, shows: Row['shows']): string => {
  const latency = `p50 ${ms(p50_ms)}  p99 ${ms(p99_ms)} ms`
  return shows === 'latency' ? latency : `${count(per_second)}/s  ${latency}`
}

const SIGNS = { at_least: '>=', more_than: '>', at_most: '<=' } as const

const targetText = (target: Target): string => {
  if (target.kind === 'none') return '-'
  const limit = target.unit === 'ms' ? `${target.limit} ms` : `${target.limit.toFixed(2)}x`
  return `${SIGNS[target.kind]} ${limit}`
}

const verdict = (row: Row): string => {
  if (row.target.kind === 'none') return 'shown'
  return isMet(row) ? 'met' : 'MISSED'
}

const RED = 31
const GREEN = 32
const DIM = 2
const BOLD = 1

export const paint =
  (coloured: boolean) =>
  (code: number, text: string): string =>
    coloured ? `\u001b[${code}m${text}\u001b[0m` : text

const coloursOf = (row: Row): number => {
  if (row.target.kind === 'none') return DIM
  return isMet(row) ? GREEN : RED
}

const cellsOf = (row: Row): readonly string[] => [
  row.title,
  speed(row.ours, row.shows),
  row.reference === undefined ? '-' : speed(row.reference, row.shows),
  row.ratio === undefined ? '-' : `${row.ratio.toFixed(2)}x`,
  targetText(row.target),
  verdict(row),
]

const cpuText = ({ cpu_ms }: Summary): string =>
  Object.entries(cpu_ms)
    .map(([name, value]) => `${name} ${value.toFixed(3)}`)
    .join(', ')

/** Below a row: what each process spent per operation, and what else there is to say. */
const notesOf = ({ ours, reference, note }: Row): readonly string[] => {
  const parts = [ours, reference].map((summary) => (summary === undefined ? '' : cpuText(summary)))
  const cpu = parts.every((part) => part === '')
    ? []
    : [`CPU ms per operation: ${parts.join(' | ')}`]
  return note === undefined ? cpu : [note, ...cpu]
}

export const renderTable = (rows: readonly Row[], coloured: boolean): string => {
  const colour = paint(coloured)
  const table = rows.map(cellsOf)
  const widths = COLUMNS.map((title, column) =>
    Math.max(title.length, ...table.map((cells) => cells[column]?.length ?? 0)),
  )
  const pad = (cells: readonly string[]) => cells.map((cell, i) => cell.padEnd(widths[i] ?? 0))
  const lines = rows.flatMap((row) => {
    const cells = pad(cellsOf(row))
    const shown = cells.map((cell, i) =>
      i === cells.length - 1 ? colour(coloursOf(row), cell) : cell,
    )
    const notes = notesOf(row).map((note) => colour(DIM, `  ${note}`))
    return [shown.join('  ').trimEnd(), ...notes]
  })
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return [colour(BOLD, pad(COLUMNS).join('  ').trimEnd()), colour(DIM, rule), ...lines].join('\n')
}

export const machine = () => ({
  cpus: cpus().length,
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  memory_gib: Math.round(totalmem() / 1024 ** 3),
  system: `${platform()} ${release()}`,
  node: process.version,
})

export const resultOf = (name: string, row: Row) => ({
  name,
  title: row.title,
  ours: row.ours,
  reference: row.reference ?? null,
  ratio: row.ratio ?? null,
  value: row.value,
  target: row.target,
  met: row.target.kind === 'none' ? null : isMet(row),
  note: row.note ?? null,
})
