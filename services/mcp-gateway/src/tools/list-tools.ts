import {
  deleteWebhook,
  type JsonSchema,
  LEASE_MAX_SECONDS,
  rotateWebhook,
} from '@guildhall/contracts'
import { type CallerView, mayUse } from '../identity/endpoint-view.ts'
import { type Members, membersOf } from '../protocol/result.ts'
import { type Tool, toolCatalogue } from './tool-catalogue.ts'

/** Tools whose text states the lease that this endpoint gets. */
const LEASE_FIELD = 'lease_ttl_seconds'

/** A client may ask its user before these. Unless told so, it assumes it of every write. */
const DESTRUCTIVE: ReadonlySet<string> = new Set([deleteWebhook.name, rotateWebhook.name])

const leaseSentence = ({ lease_seconds, lease_is_own }: CallerView): string =>
  `Without ${LEASE_FIELD} the lease is ${lease_seconds} seconds (${lease_is_own ? 'set for this endpoint' : "the server's default"}); at most ${LEASE_MAX_SECONDS}.`

const withLease = (schema: JsonSchema, sentence: string): JsonSchema => {
  const properties = schema.properties as Record<string, JsonSchema> // the schema of an object
  const field = { ...properties[LEASE_FIELD], description: sentence }
  return { ...schema, properties: { ...properties, [LEASE_FIELD]: field } }
}

const describeTool = ({ op, input_schema, output_schema }: Tool, view: CallerView): object => {
  const leased = LEASE_FIELD in (input_schema.properties as object) // the schema of an object
  const sentence = leaseSentence(view)
  return {
    name: op.name,
    description: leased ? `${op.summary} ${sentence}` : op.summary,
    inputSchema: leased ? withLease(input_schema, sentence) : input_schema,
    outputSchema: output_schema,
    annotations: {
      readOnlyHint: op.access === 'read',
      destructiveHint: DESTRUCTIVE.has(op.name),
      openWorldHint: false,
    },
  }
}

const listed = new WeakMap<CallerView, Members>()

/** Granted tools only, in the order of the catalogue, so that a model's prompt cache holds. */
export const listTools = (view: CallerView): Members => {
  const known = listed.get(view)
  if (known !== undefined) return known
  const granted = [...toolCatalogue.values()].filter(({ op }) => mayUse(view, op))
  const members = membersOf({ tools: granted.map((tool) => describeTool(tool, view)) })
  listed.set(view, members)
  return members
}
