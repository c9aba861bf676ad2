import {
  inputSchema,
  type JsonSchema,
  type Operation,
  operations,
  outputSchema,
  routesOf,
} from '@guildhall/contracts'
import { compileSchema, type Validate } from '../tools/compile-schema.ts'

/** The operations that have a route, with what a route needs to know of them. */
export interface RestOperation {
  readonly op: Operation
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** In the form of OpenAPI: /api/todos/{id} */
  readonly path: string
  readonly path_fields: readonly string[]
  /** Input fields that the route decides. They are not part of what a request may send. */
  readonly fixed: Readonly<Record<string, string>>
  /** The output's field that is the whole answer. */
  readonly list: string | undefined
  /** What a request sends, without what the route decides. */
  readonly input_schema: JsonSchema
  readonly output_schema: JsonSchema
  readonly validate: Validate
}

const FIELD = /\{([a-z_]+)\}/g

export const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>> // the schema of an object

const withoutFields = (schema: JsonSchema, names: readonly string[]): JsonSchema => {
  if (names.length === 0) return schema
  const isKept = (name: unknown): boolean => !names.some((other) => other === name)
  const properties = Object.entries(propertiesOf(schema)).filter(([name]) => isKept(name))
  const required = Array.isArray(schema.required) ? schema.required.filter(isKept) : []
  return { ...schema, properties: Object.fromEntries(properties), required }
}

const fieldOf = (schema: JsonSchema, name: string): JsonSchema => {
  const field = propertiesOf(schema)[name]
  if (field === undefined) throw new Error(`no field ${name} to be the whole answer`)
  return field
}

const toRest = (op: Operation): RestOperation[] => {
  const whole_schema = inputSchema(op)
  const output_schema = outputSchema(op)
  return routesOf(op).map(({ method, path, fixed = {}, list }) => {
    const input_schema = withoutFields(whole_schema, Object.keys(fixed))
    return {
      op,
      method,
      path,
      path_fields: [...path.matchAll(FIELD)].flatMap(([, field]) => field ?? []),
      fixed,
      list,
      input_schema,
      output_schema: list === undefined ? output_schema : fieldOf(output_schema, list),
      validate: compileSchema(input_schema),
    }
  })
}

export const restOperations: readonly RestOperation[] = operations.flatMap(toRest)

/** As the router writes it: /api/todos/:id */
export const routePath = ({ path }: RestOperation): string => path.replace(FIELD, ':$1')

/** What is read from the URL; everything else stands in the body. */
export const takesQuery = ({ method }: RestOperation): boolean =>
  method === 'GET' || method === 'DELETE'
