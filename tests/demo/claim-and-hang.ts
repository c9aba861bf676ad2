import { claimNext } from '@guildhall/contracts'
import { agentAt } from './agent.ts'

/**
 * A worker that claims one todo, says so on stdout, and then works on it for ever, without a
 * heartbeat. It is started to be killed.
 */

const [mcp_url = '', queue = '', lease = ''] = process.argv.slice(2)
const agent = agentAt(mcp_url, process.env.AGENT_TOKEN ?? '')
const { todo, lease_token } = await agent.call(claimNext, {
  queue,
  lease_ttl_seconds: Number(lease),
  claimant: `worker process ${process.pid}`,
  wait_seconds: 10,
})
process.stdout.write(`${JSON.stringify({ id: todo?.id, lease_token })}\n`)
setInterval(() => undefined, 60_000)
