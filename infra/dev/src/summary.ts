import type { DevFile } from './dev-file.ts'
import { bold, cyan, dim } from './terminal.ts'

const clientConfiguration = ({ mcp_url, agent }: DevFile): string =>
  JSON.stringify(
    {
      mcpServers: {
        guildhall: {
          type: 'http',
          url: mcp_url,
          headers: { Authorization: `Bearer ${agent.token}` },
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
    row('Owner, API token', dev.owner.api_token),
    row('Agent credential', dev.agent.token),
    '',
    row('MCP', dev.mcp_url),
    row('REST', dev.api_url),
    row('Webhooks', `${dev.ingest_url}/webhooks/w/<token>`),
    row('NATS', dev.nats_url),
    '',
    bold('Configuration for an MCP client:'),
    clientConfiguration(dev),
    '',
    bold('A sample webhook') + dim(' (the agent gets a <token> from its webhook tools):'),
    `curl -i -X POST ${dev.ingest_url}/webhooks/w/<token> \\`,
    `  -H 'content-type: application/json' -d '{"hello": "world"}'`,
    '',
    dim(`Logs: make logs, or ${logDirectory}. All of this again: make up. The end: make down.`),
    '',
  ].join('\n')
