import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defaultGrants, operations } from './catalogue.ts'
import { errorCodes } from './errors.ts'
import { inputSchema, outputSchema } from './json-schema.ts'
import { grantOf, type Operation, routesOf } from './operation.ts'

/**
 * Writes what is derived from the contracts and committed for readers: a JSON Schema file per
 * operation and the tables of this package's README. With --check it writes nothing and fails on a
 * difference.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))

const schemaFiles = (): Map<string, string> =>
  new Map(
    operations.map((op: Operation) => [
      join('schemas', `${op.service}.${op.name}.json`),
      `${JSON.stringify(
        {
          summary: op.summary,
          errors: op.errors,
          input: inputSchema(op),
          output: outputSchema(op),
        },
        null,
        2,
      )}\n`,
    ]),
  )

const operationTable = (): string =>
  [
    '| operation | service | agents: the grant it needs | REST for owners | what it does |',
    '| --- | --- | --- | --- | --- |',
    ...operations.map((op: Operation) => {
      const granted = defaultGrants.includes(grantOf(op)) ? '' : ' (not by default)'
      const grant = op.tool ? `\`${grantOf(op)}\`${granted}` : '-'
      const routes = routesOf(op).map(({ method, path }) => `\`${method} ${path}\``)
      const rest = routes.length === 0 ? '-' : routes.join('<br>')
      return `| \`${op.name}\` | ${op.service} | ${grant} | ${rest} | ${op.summary} |`
    }),
  ].join('\n')

const errorTable = (): string =>
  [
    '| code | HTTP | a repeat can help | what the caller should do |',
    '| --- | --- | --- | --- |',
    ...Object.entries(errorCodes).map(
      ([code, kind]) =>
        `| \`${code}\` | ${kind.status} | ${kind.retryable ? 'yes' : 'no'} | ${kind.what_to_do} |`,
    ),
  ].join('\n')

const between = (text: string, name: string, content: string): string => {
  const pattern = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(\\n<!-- /${name} -->)`)
  if (!pattern.test(text)) throw new Error(`README.md has no place for ${name}`)
  return text.replace(pattern, (_all, open: string, close: string) => `${open}${content}${close}`)
}

const wanted = schemaFiles()
const readme = readFileSync(join(root, 'README.md'), 'utf8')
wanted.set(
  'README.md',
  between(between(readme, 'operations', operationTable()), 'errors', errorTable()),
)

const read = (file: string): string | undefined => {
  try {
    return readFileSync(join(root, file), 'utf8')
  } catch {
    return undefined
  }
}

const stale = [...wanted].filter(([file, content]) => read(file) !== content).map(([file]) => file)
mkdirSync(join(root, 'schemas'), { recursive: true })
const extra = readdirSync(join(root, 'schemas'))
  .map((file) => join('schemas', file))
  .filter((file) => !wanted.has(file))

if (process.argv.includes('--check')) {
  for (const file of [...stale, ...extra]) process.stderr.write(`stale: libs/contracts/${file}\n`)
  if (stale.length + extra.length > 0) {
    process.stderr.write('run `make generate` and commit the result\n')
    process.exitCode = 1
  }
} else {
  for (const file of extra) rmSync(join(root, file))
  for (const file of stale) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), wanted.get(file) ?? '')
  }
}
