import { fileURLToPath } from 'node:url'
import { describeDefaultLease } from '@guildhall/contracts'
import { freePort, startService } from '@guildhall/testing'
import type { Bench } from './benchmark.ts'
import type { Guildhall } from './guildhall.ts'
import { type Load, startLoad } from './load-process.ts'
import type { McpCalls } from './loads/mcp-calls.ts'
import type { Arm } from './measure.ts'
import { WORKERS } from './plan.ts'

/** Says back what get_default_lease answers, so that both move the same text. */
const MESSAGE = JSON.stringify(describeDefaultLease(null))

/** The stock SDK server in a process of its own, and a client process for it. */
export const startEcho = async (bench: Bench, { tool_count }: Guildhall): Promise<Arm> => {
  const port = await freePort()
  const server = await startService({
    name: 'echo',
    entry: fileURLToPath(new URL('./echo-server.js', import.meta.url)),
    args: [`${port}`, `${tool_count}`],
    env: { NODE_ENV: 'production' },
    readyLine: 'echo listens',
  })
  bench.onEnd(async () => {
    await server.stop()
  })
  const load = startLoad<McpCalls>('mcp-calls')
  bench.onEnd(load.stop)
  await load.call('connect', { url: `http://127.0.0.1:${port}/mcp`, workers: WORKERS })
  return {
    label: `SDK echo with ${tool_count} tools`,
    processes: { server: server.pid, load: load.pid },
    run: (operations) =>
      load.call('calls', { operations, tool: 'echo', args: { message: MESSAGE } }),
  }
}

/** The same client process for the gateway. */
export const startGatewayLoad = async (
  bench: Bench,
  { mcp_url, token }: Guildhall,
): Promise<Load<McpCalls>> => {
  const load = startLoad<McpCalls>('mcp-calls')
  bench.onEnd(load.stop)
  await load.call('connect', { url: mcp_url, bearer: token, workers: WORKERS })
  return load
}
