import { metaKeys } from './modern-envelope.ts'

/**
 * Results are carried as the text of an object's members, without its braces. So the JSON of a tool
 * result is made once, and each era only puts its own members around it.
 */
export type Members = string

export const serverInfo = { name: 'guildhall', version: '0.1.0' } as const

/** Servers should name themselves in each modern result. */
const modernStamp = `"resultType":"complete","_meta":${JSON.stringify({ [metaKeys.server_info]: serverInfo })}`

export const legacyResult = (members: Members): string => `{${members}}`

export const modernResult = (members: Members): string =>
  members === '' ? `{${modernStamp}}` : `{${modernStamp},${members}}`

/** What depends on the caller's grants must not be shared between callers. */
export const cacheable = (members: Members, ttl_ms: number): Members =>
  `${members === '' ? '' : `${members},`}"ttlMs":${ttl_ms},"cacheScope":"private"`

export const membersOf = (value: object): Members => JSON.stringify(value).slice(1, -1)

/** `body` is the JSON of the output; it appears as structure and, for older clients, as text. */
export const toolMembers = (body: string): Members =>
  `"content":[{"type":"text","text":${JSON.stringify(body)}}],"structuredContent":${body}`

/** No structuredContent: an error does not match the tool's output schema. */
export const toolErrorMembers = (body: object): Members =>
  `"content":[{"type":"text","text":${JSON.stringify(JSON.stringify(body))}}],"isError":true`
