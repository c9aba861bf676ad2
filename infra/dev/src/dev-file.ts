import type { Layout } from './layout.ts'
import type { FirstOwner } from './owner.ts'
import { readJson, writePrivateJson } from './private-file.ts'

/** var/dev.json: what runs now and how to get in. For scripts, tests and the summary. */
export interface DevFile extends FirstOwner {
  mcp_url: string
  api_url: string
  ingest_url: string
  nats_url: string
  /** The operator's login on our own nats-server. */
  nats_admin?: { user: string; password: string }
  /** Health and metrics of each service: /health, /ready, /metrics. */
  ops_urls: Record<string, string>
  /** Of everything that was started, the supervisor too. They change when one is restarted. */
  pids: Record<string, number>
}

export const writeDevFile = (layout: Layout, content: DevFile): void =>
  writePrivateJson(layout.devFile, content)

// `as`: only writeDevFile writes it.
export const readDevFile = (layout: Layout): DevFile | undefined =>
  readJson(layout.devFile) as DevFile | undefined
