import type { DevFile } from './dev-file.ts'
import { bold, cyan, dim } from './terminal.ts'

const UNKNOWN = 'shown once and then lost; the owner can make a new one'

const CREATE_WEBHOOK = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'create_webhook', arguments: { source_type: 'generic', target_queue: 'inbox' } },
}

const CREATE_GOAL = {
  title: 'A first goal',
  description: 'What is to be reached, in a few sentences.',
  budget_tokens: 100_000,
}

const credential = ({ agent }: DevFile): string => agent?.token ?? '<credential>'

const clientConfiguration = (dev: DevFile): string =>
  JSON.stringify(
    {
      mcpServers: {
        guildhall: {
          type: 'http',
          url: dev.mcp_url,
          headers: { Authorization: `Bearer ${credential(dev)}` },
        },
      },
    },
    undefined,
    2,
  )

const row = (label: string, value: string): string => `  ${label.padEnd(18)}${cyan(value)}`

/** What a person wants to know after `make up`. */
export const summary = (dev: DevFile, logDirectory: string): string =>
  [
    '',
    bold('Guildhall is running.'),
    '',
    row('Owner, log in at', dev.owner.login_url),
    row('Owner, API token', dev.owner.api_token ?? UNKNOWN),
    row('Agent credential', dev.agent?.token ?? UNKNOWN),
    '',
    row('MCP', dev.mcp_url),
    row('REST', dev.api_url),
    row('Webhooks', `${dev.ingest_url}/webhooks/w/<token>`),
    row('NATS', dev.nats_url),
    '',
    bold('Configuration for an MCP client:'),
    clientConfiguration(dev),
    '',
    bold('A sample webhook: make one, then post to the ingest_url of the answer'),
    `curl -s ${dev.mcp_url} -H 'Authorization: Bearer ${credential(dev)}' \\`,
    `  -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\`,
    `  -d '${JSON.stringify(CREATE_WEBHOOK)}'`,
    `curl -i <ingest_url> -H 'content-type: application/json' -d '{"hello": "world"}'`,
    '',
    bold('A goal: its coordinator proposes tasks, which wait for you at /api/approvals'),
    `curl -s ${dev.api_url}/goals -H 'Authorization: Bearer ${dev.owner.api_token ?? '<API token>'}' \\`,
    `  -H 'content-type: application/json' -d '${JSON.stringify(CREATE_GOAL)}'`,
    '',
    dim(`Logs: make logs, or ${logDirectory}. All of this again: make up. The end: make down.`),
    '',
  ].join('\n')
