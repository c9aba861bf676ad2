import { Buffer } from 'node:buffer'
import { type HashedConfig, type McpServer, sha256Hex } from '@guildhall/contracts'

/**
 * The identity of an agent to reputation: two agents that are made of the same are the same to it.
 * The recipe is fixed bit by bit, since other systems compute it too: SHA-256 of a JSON text whose
 * order, treatment of empty lists and escapes are all part of it.
 */

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Sorted, with duplicates; an empty list is null. */
const labels = (values: readonly string[]): readonly string[] | null =>
  values.length === 0 ? null : [...values].sort(byBytes)

/** Servers of one name are ordered by what is left, so that the order given never matters. */
const byPlace = (a: McpServer, b: McpServer): number =>
  byBytes(a.name, b.name) || byBytes(a.url, b.url) || byBytes(a.transport, b.transport)

const ESCAPED = /[<>&\u2028\u2029]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Key order is that of the literals here; an empty list of servers stays a list. */
const canonicalConfig = (config: HashedConfig): string =>
  JSON.stringify({
    mcp_servers: [...config.mcp_servers]
      .sort(byPlace)
      .map(({ name, transport, url }) => ({ name, transport, url })),
    model: config.model,
    skills: labels(config.skills),
    subagents: labels(config.subagents),
    system_prompt: config.system_prompt,
    tool_scope: labels(config.tool_scope),
  }).replace(ESCAPED, escaped)

export const configHash = (config: HashedConfig): string => sha256Hex(canonicalConfig(config))
