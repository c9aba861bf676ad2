import { createHash } from 'node:crypto'
import {
  grantOf,
  inputSchema,
  type JsonSchema,
  type Operation,
  outputSchema,
  tools,
} from '@guildhall/contracts'
import { compileSchema, type Validate } from './compile-schema.ts'

/** The tools of the contract, with their schemas made and compiled once per process. */
export interface Tool {
  readonly op: Operation
  readonly grant: string
  readonly input_schema: JsonSchema
  readonly output_schema: JsonSchema
  readonly validate: Validate
}

const toTool = (op: Operation): Tool => {
  const input_schema = inputSchema(op)
  return {
    op,
    grant: grantOf(op),
    input_schema,
    output_schema: outputSchema(op),
    validate: compileSchema(input_schema),
  }
}

/** A Map, not an object: a tool called "constructor" is unknown, not inherited. */
export const toolCatalogue: ReadonlyMap<string, Tool> = new Map(
  tools.map((op) => [op.name, toTool(op)]),
)

/** Names this version of all tool names and schemas, so that a client sees what it was built for. */
export const contractVersion: string = createHash('sha256')
  .update(
    JSON.stringify(
      [...toolCatalogue.values()].map(({ op, input_schema, output_schema }) => [
        op.name,
        input_schema,
        output_schema,
      ]),
    ),
  )
  .digest('hex')
  .slice(0, 16)
