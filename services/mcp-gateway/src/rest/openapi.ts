import { errorCodes, grantOf, type JsonSchema } from '@guildhall/contracts'
import { serverInfo } from '../protocol/result.ts'
import { propertiesOf, type RestOperation, restOperations, takesQuery } from './rest-operations.ts'

/** OpenAPI 3.1 of the REST surface, from the same definitions that serve it. */

const JSON_TYPE = 'application/json'

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['code', 'message', 'what_to_do', 'request_id'],
  properties: {
    code: { type: 'string', enum: Object.keys(errorCodes) },
    message: { type: 'string' },
    what_to_do: { type: 'string' },
    retry_after_seconds: { type: 'integer' },
    details: { type: 'object' },
    request_id: { type: 'string' },
  },
}

const content = (schema: JsonSchema) => ({ [JSON_TYPE]: { schema } })

const requiredOf = (schema: JsonSchema): readonly unknown[] =>
  Array.isArray(schema.required) ? schema.required : []

const parameters = (rest: RestOperation): object[] => {
  const required = requiredOf(rest.input_schema)
  return Object.entries(propertiesOf(rest.input_schema)).flatMap(([name, schema]) => {
    const in_path = rest.path_fields.includes(name)
    if (!in_path && !takesQuery(rest)) return []
    return { name, in: in_path ? 'path' : 'query', required: required.includes(name), schema }
  })
}

const requestBody = (rest: RestOperation): object => {
  if (takesQuery(rest)) return {}
  const { input_schema, path_fields } = rest
  const isBody = (name: unknown): boolean => !path_fields.some((field) => field === name)
  const fields = Object.entries(propertiesOf(input_schema)).filter(([name]) => isBody(name))
  if (fields.length === 0) return {}
  const required = requiredOf(input_schema).filter(isBody)
  const schema = { ...input_schema, properties: Object.fromEntries(fields), required }
  return { requestBody: { required: required.length > 0, content: content(schema) } }
}

const errorResponses = ({ op }: RestOperation): object => {
  const codes = ['unauthenticated', 'forbidden', 'rate_limited', 'internal', ...op.errors] as const
  const by_status = new Map<number, string[]>()
  for (const code of new Set(codes)) {
    const { status } = errorCodes[code]
    by_status.set(status, [...(by_status.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...by_status].map(([status, names]) => [
      String(status),
      { description: names.join(', '), content: content({ $ref: '#/components/schemas/Error' }) },
    ]),
  )
}

/** Of several routes to one operation each is named after what it decides. */
const operationId = ({ op, fixed }: RestOperation): string =>
  [op.name, ...Object.values(fixed)].join('_')

const nextCursor = {
  'X-Next-Cursor': {
    description: 'The cursor of the next page; absent on the last',
    schema: { type: 'string' },
  },
}

const describe = (rest: RestOperation): object => ({
  operationId: operationId(rest),
  summary: rest.op.summary,
  tags: [rest.op.family],
  'x-grant': grantOf(rest.op),
  parameters: parameters(rest),
  ...requestBody(rest),
  responses: {
    200: {
      description: 'Done',
      ...(rest.list === undefined ? {} : { headers: nextCursor }),
      content: content(rest.output_schema),
    },
    ...errorResponses(rest),
  },
})

const paths = (): Record<string, object> => {
  const result: Record<string, object> = {}
  for (const rest of restOperations) {
    result[rest.path] = { ...result[rest.path], [rest.method.toLowerCase()]: describe(rest) }
  }
  return result
}

const document = {
  openapi: '3.1.0',
  info: { title: 'Guildhall', version: serverInfo.version },
  paths: paths(),
  components: {
    schemas: { Error: errorSchema },
    securitySchemes: {
      api_token: { type: 'http', scheme: 'bearer' },
      session: { type: 'apiKey', in: 'cookie', name: '__Host-guildhall' },
      csrf: { type: 'apiKey', in: 'header', name: 'X-CSRF-Token' },
    },
  },
  security: [{ api_token: [] }, { session: [], csrf: [] }],
}

export const openApiText: string = JSON.stringify(document)
