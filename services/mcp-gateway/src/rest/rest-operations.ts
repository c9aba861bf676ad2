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
  readonly input_schema: JsonSchema
  readonly output_schema: JsonSchema
  readonly validate: Validate
}

const FIELD = /\{([a-z_]+)\}/g

const toRest = (op: Operation): RestOperation[] => {
  const input_schema = inputSchema(op)
  return routesOf(op).map(({ method, path }) => ({
    op,
    method,
    path,
    path_fields: [...path.matchAll(FIELD)].flatMap(([, field]) => field ?? []),
    input_schema,
    output_schema: outputSchema(op),
    validate: compileSchema(input_schema),
  }))
}

export const restOperations: readonly RestOperation[] = operations.flatMap(toRest)

/** As the router writes it: /api/todos/:id */
export const routePath = ({ path }: RestOperation): string => path.replace(FIELD, ':$1')

/** What is read from the URL; everything else stands in the body. */
export const takesQuery = ({ method }: RestOperation): boolean =>
  method === 'GET' || method === 'DELETE'

export const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>> // the schema of an object
