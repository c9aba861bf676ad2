import type { CallerView } from '../identity/endpoint-view.ts'
import { instructionsFor } from './instructions.ts'
import type { Params } from './json-rpc.ts'
import { type Members, membersOf, serverInfo } from './result.ts'
import { MODERN_VERSION, negotiateVersion } from './versions.ts'

/** No prompts, completions or logging: what is not declared here is "method not found". */
const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  experimental: { 'claude/channel': {} },
} as const

/** A pure function of its input: no session begins, so any replica may answer the next request. */
export const initialize = (view: CallerView, params: Params): Members =>
  membersOf({
    protocolVersion: negotiateVersion(params.protocolVersion),
    capabilities,
    serverInfo: { ...serverInfo, title: 'Guildhall' },
    instructions: instructionsFor(view),
  })

/** Only modern revisions: a client that picks one of these is to send it with each request. */
export const discover = (view: CallerView): Members =>
  membersOf({
    supportedVersions: [MODERN_VERSION],
    capabilities,
    instructions: instructionsFor(view),
  })
