import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** The dependency rule, as a test: who may import what, and where each protocol lives. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'libs/contracts': [],
  'libs/runtime': ['contracts'],
  'libs/bus': ['contracts', 'runtime'],
  'libs/db': ['contracts', 'runtime'],
  'libs/testing': ['contracts', 'runtime', 'bus', 'db'],
  services: ['contracts', 'runtime', 'bus', 'db'],
  tests: ['contracts', 'testing'],
  'infra/dev': ['contracts', 'testing'],
}

/** Packages that only one part may know, so that the protocol can change in one place. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  nats: ['libs/bus', 'tests', 'infra', 'libs/testing'],
  pg: ['libs/db', 'tests', 'infra', 'libs/testing'],
  knex: ['libs/db'],
  '@modelcontextprotocol/sdk': ['services/mcp-gateway', 'tests'],
  '@modelcontextprotocol/client': ['services/mcp-gateway/test', 'tests'],
}

const sourceFiles = (directory: string): string[] =>
  readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      return ['node_modules', 'dist', '.tap'].includes(entry.name) ? [] : sourceFiles(path)
    }
    return entry.name.endsWith('.ts') ? [path] : []
  })

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g

const files = ['libs', 'services', 'infra', 'tests'].flatMap(sourceFiles)

const packageOf = (file: string): string => file.split('/').slice(0, 2).join('/')

const ruleFor = (file: string): readonly string[] | undefined =>
  MAY_IMPORT[packageOf(file)] ?? MAY_IMPORT[file.split('/')[0] ?? '']

const isTest = (file: string): boolean => /\/test\//.test(file)

const violations = files.flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(IMPORT)].flatMap(([, specifier = '']) => {
    const ours = /^@guildhall\/([\w-]+)/.exec(specifier)?.[1]
    if (ours !== undefined) {
      const allowed = ruleFor(file) ?? []
      const ok = allowed.includes(ours) || (isTest(file) && ours === 'testing')
      return ok ? [] : [`${file} imports ${specifier}`]
    }
    if (specifier.startsWith('.')) {
      const target = relative(ROOT, resolve(ROOT, dirname(file), specifier))
      return packageOf(target) === packageOf(file) ? [] : [`${file} reaches into ${target}`]
    }
    const [scope = '', name] = specifier.split('/')
    const external = scope.startsWith('@') ? `${scope}/${name}` : scope
    const places = ONLY_IN[external]
    return places === undefined || places.some((place) => file.startsWith(`${place}/`))
      ? []
      : [`${file} imports ${specifier}, which only ${places.join(', ')} may`]
  })
})

t.test('every import keeps the dependency rule', async (t) => {
  t.ok(files.length > 100, `${files.length} files were read`)
  t.strictSame(violations, [])
})

t.test('process.env is read only where a process begins', async (t) => {
  const begin = /\/(main|migrate|bootstrap|reconcile|verify-audit|provision|stdio-bridge)\.ts$/
  const readers = files.filter(
    (file) =>
      /^(libs|services)\//.test(file) &&
      !isTest(file) &&
      !file.startsWith('libs/testing/') &&
      !begin.test(file) &&
      readFileSync(join(ROOT, file), 'utf8').includes('process.env'),
  )
  t.strictSame(readers, [])
})

t.test('SQL stays in stores, migrations and the database library', async (t) => {
  const sql = /`\s*(select|insert into|update \w+ set|delete from|create table)\b/i
  const strays = files.filter(
    (file) =>
      file.startsWith('services/') &&
      !isTest(file) &&
      !/\/(store|migrations)\//.test(file) &&
      sql.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  t.strictSame(strays, [])
})

t.test('no file is longer than 400 lines', async (t) => {
  const long = files.filter(
    (file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length > 400,
  )
  t.strictSame(long, [])
})
