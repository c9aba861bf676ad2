import t from 'tap'
import {
  defaultGrants,
  errorCodes,
  grantableTools,
  inputSchema,
  type JsonSchema,
  type Operation,
  operations,
  outputSchema,
  routesOf,
  tools,
} from '../src/index.ts'

const walk = (
  schema: unknown,
  visit: (node: JsonSchema, path: string) => void,
  path = '',
): void => {
  if (typeof schema !== 'object' || schema === null) return
  if (Array.isArray(schema)) {
    for (const [i, item] of schema.entries()) walk(item, visit, `${path}/${i}`)
    return
  }
  visit(schema as JsonSchema, path)
  for (const [key, value] of Object.entries(schema)) walk(value, visit, `${path}/${key}`)
}

t.test('tool schemas stay in the subset that clients accept', async (t) => {
  for (const op of tools) {
    for (const schema of [inputSchema(op), outputSchema(op)]) {
      t.equal(schema.type, 'object', `${op.name}: an object at the root`)
      t.equal(schema.additionalProperties, false, `${op.name}: extra keys are refused`)
      for (const word of ['anyOf', 'oneOf', 'allOf', 'not']) {
        t.notOk(word in schema, `${op.name}: no ${word} at the root`)
      }
      walk(schema, (node, path) => t.notOk('$ref' in node, `${op.name}${path}: no $ref`))
      const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
      for (const [name, property] of properties) {
        const typed = ['type', 'anyOf', 'const', 'enum'].some((word) => word in property)
        t.ok(typed, `${op.name}.${name} has a type`)
      }
    }
  }
})

t.test('names, routes and errors of operations are well formed and unique', async (t) => {
  const names = operations.map((op) => op.name)
  t.equal(new Set(names).size, names.length)
  const routes = operations
    .flatMap((op: Operation) => routesOf(op))
    .map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  t.equal(new Set(routes).size, routes.length)
  for (const op of operations as readonly Operation[]) {
    t.match(op.name, /^[a-z][a-z_]*$/)
    for (const code of op.errors) t.ok(code in errorCodes)
    t.ok(op.tool || op.human_only === true || op.grant !== undefined, `${op.name} can be called`)
  }
})

t.test('what is granted by default can be granted, and retry_todo is not by default', async (t) => {
  for (const grant of defaultGrants) t.ok(grantableTools.includes(grant), grant)
  t.notOk(defaultGrants.includes('retry_todo'))
  t.ok(grantableTools.includes('retry_todo'))
})
