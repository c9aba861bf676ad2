import { z } from 'zod'
import type { Operation } from './operation.ts'

/**
 * JSON Schemas of operations: one text for tools/list, validation, OpenAPI and the committed files.
 *
 * Clients of many makes read these, some of them strict, so they stay in a simple subset: an object
 * at the root, no composition there, no `$ref`, a type at each property, `additionalProperties:
 * false` stated. What says nothing is dropped, since a model pays for each character: the bounds of
 * safe integers, and the long pattern beside `format: date-time`.
 */

export type JsonSchema = { [key: string]: unknown }

const isNullType = (schema: JsonSchema): boolean =>
  schema.type === 'null' && Object.keys(schema).length === 1

/** `anyOf: [T, null]` becomes T with the type `[T, "null"]`: the property keeps a type of its own. */
const mergeNullable = (schema: JsonSchema): void => {
  const options = schema.anyOf
  if (!Array.isArray(options) || options.length !== 2) return
  const [first, second]: JsonSchema[] = options
  if (first === undefined || second === undefined || !isNullType(second)) return
  if (typeof first.type !== 'string' || first.const !== undefined) return
  delete schema.anyOf
  Object.assign(schema, first, { type: [first.type, 'null'] })
  if (Array.isArray(first.enum)) schema.enum = [...first.enum, null]
}

/** Inside out: a nullable is merged once what it holds is in its final form. */
const simplify = (schema: unknown): void => {
  if (typeof schema !== 'object' || schema === null) return
  for (const part of Object.values(schema)) simplify(part)
  simplifyOne(schema as JsonSchema) // an array has none of the keys that are looked at
}

const simplifyOne = (schema: JsonSchema): void => {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.format === 'date-time') delete schema.pattern
  mergeNullable(schema)
}

const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
  const result: JsonSchema = z.toJSONSchema(schema, { io, reused: 'inline' })
  delete result.$schema
  simplify(result)
  return result
}

export const inputSchema = (op: Operation): JsonSchema => convert(op.input, 'input')
export const outputSchema = (op: Operation): JsonSchema => convert(op.output, 'output')
