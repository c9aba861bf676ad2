import { z } from 'zod'
import type { Operation } from './operation.ts'

/**
 * JSON Schemas of operations, in the subset that real MCP clients accept: an object at the root, no
 * composition there, no `$ref`, no parameter without a type, and `additionalProperties: false`
 * stated. Draft 7, which all clients in the field understand.
 */
export type JsonSchema = Readonly<Record<string, unknown>>

const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema =>
  z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    reused: 'inline',
    override: ({ jsonSchema }) => {
      // zod's own patterns repeat what `format` says, at many times the length.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
      // Limits of a double, which every JSON number keeps anyway.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  }) as JsonSchema // zod's type allows booleans below the root only

export const inputSchema = (op: Operation): JsonSchema => convert(op.input, 'input')
export const outputSchema = (op: Operation): JsonSchema => convert(op.output, 'output')
