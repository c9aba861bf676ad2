import { type JsonSchema, ServiceError } from '@guildhall/contracts'
import { BadJson, parseJsonBody } from '../http/json-body.ts'
import { isObject } from '../protocol/json-rpc.ts'
import { propertiesOf, type RestOperation, takesQuery } from './rest-operations.ts'

/** One input out of the path, the query and the body. */

const INTEGER = /^-?\d{1,15}$/

const hasType = ({ type }: JsonSchema, wanted: string): boolean =>
  Array.isArray(type) ? type.includes(wanted) : type === wanted

/** Text of a URL as the type that the schema wants; what does not fit is left for the validator. */
const coerce = (text: string, schema: JsonSchema | undefined): unknown => {
  if (schema === undefined || hasType(schema, 'string')) return text
  if (hasType(schema, 'integer') && INTEGER.test(text)) return Number(text)
  if (hasType(schema, 'boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const readBody = (body: unknown): Readonly<Record<string, unknown>> => {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    const value = parseJsonBody(body)
    if (isObject(value)) return value
  } catch (error) {
    if (!(error instanceof BadJson)) throw error
    throw new ServiceError('invalid_argument', error.message)
  }
  throw new ServiceError('invalid_argument', 'the body must be a JSON object')
}

interface RestRequest {
  readonly params: unknown
  readonly query: URLSearchParams
  readonly body: unknown
}

export const readInput = (
  rest: RestOperation,
  { params, query, body }: RestRequest,
): Readonly<Record<string, unknown>> => {
  const properties = propertiesOf(rest.input_schema)
  const input = new Map<string, unknown>()
  const add = (name: string, value: unknown): void => {
    if (input.has(name)) throw new ServiceError('invalid_argument', `${name} was given twice`)
    input.set(name, value)
  }
  const schemaOf = (name: string): JsonSchema | undefined =>
    Object.hasOwn(properties, name) ? properties[name] : undefined
  for (const [name, value] of Object.entries(isObject(params) ? params : {})) {
    add(name, coerce(String(value), schemaOf(name)))
  }
  if (takesQuery(rest)) {
    for (const [name, value] of query) add(name, coerce(value, schemaOf(name)))
  } else {
    for (const [name, value] of Object.entries(readBody(body))) add(name, value)
  }
  return Object.fromEntries(input)
}
