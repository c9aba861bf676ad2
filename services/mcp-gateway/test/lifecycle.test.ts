import { fileURLToPath } from 'node:url'
import { connectBus } from '@guildhall/bus'
import { claimNext } from '@guildhall/contracts'
import { createLogger } from '@guildhall/runtime'
import { freePort, ManualClock, startNats, startService, waitFor } from '@guildhall/testing'
import t from 'tap'
import { createGateway } from '../src/gateway.ts'
import { setup, testConfig } from './support/gateway.ts'
import { callTool, listen, openStream, post, request } from './support/mcp-client.ts'

const log = createLogger({ service: 'test', level: 'silent' })

t.test('until the identities are loaded, everything but health is unavailable', async (t) => {
  const nats = await startNats()
  const bus = await connectBus({ url: nats.url, service: 'mcp-gateway', log })
  // No topology was applied: the bucket is not there yet.
  const gateway = createGateway({
    config: testConfig(nats.url),
    bus,
    clock: new ManualClock(),
    log,
  })
  t.teardown(async () => {
    await gateway.stop()
    await bus.close()
    await nats.stop()
  })
  await gateway.start()
  t.equal((await fetch(`${gateway.url}/health`)).status, 200)
  t.equal((await fetch(`${gateway.url}/ready`)).status, 503)
  for (const path of ['/mcp', '/api/me', '/login?token=x']) {
    t.equal((await fetch(`${gateway.url}${path}`)).status, 503, path)
  }
  const answer = await post(`${gateway.url}/mcp`, request('ping'), { token: 'agt_some-token' })
  t.match(answer, { status: 503, body: { code: 'unavailable', retry_after_seconds: 1 } })
  t.equal(answer.headers.get('retry-after'), '1')
})

t.test('a stop ends the streams, finishes what was begun and refuses the rest', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  let let_go = (): void => undefined
  let begun = false
  f.tasks.on(claimNext, async () => {
    begun = true
    await new Promise<void>((resolve) => {
      let_go = resolve
    })
    return { empty: true }
  })
  const old_stream = await openStream(f.mcp_url, token)
  const new_stream = await listen(f.mcp_url, token, { toolsListChanged: true })
  const call = callTool(f.mcp_url, token, claimNext.name, { wait_seconds: 50 })
  await waitFor(() => begun, { what: 'the call to reach its service' })
  const url = f.mcp_url
  const stopped = f.gateway.stop()
  await Promise.all([old_stream.ended, new_stream.ended])
  t.match(new_stream.messages.at(-1), { id: 'sub-1', result: { resultType: 'complete' } })
  let_go()
  // The wait is not gone on with: it ends with its slice.
  t.strictSame((await call).structuredContent, { empty: true })
  await stopped
  t.equal(f.tasks.callsOf(claimNext).length, 1)
  await t.rejects(fetch(url))
  await f.gateway.stop()
})

t.test('streams and calls survive a restart of the bus', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  f.tasks.on(claimNext, () => ({ empty: true }))
  const stream = await openStream(f.mcp_url, token)
  await f.nats.restart()
  await waitFor(
    async () => (await callTool(f.mcp_url, token, claimNext.name)).isError === undefined,
    { what: 'calls to work again' },
  )
  t.equal(stream.open, true)
})

t.test('the process starts, serves and ends on SIGTERM', async (t) => {
  const f = await setup(t)
  const { token } = await f.vend()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startService({
    name: 'mcp-gateway',
    entry: fileURLToPath(new URL('../src/main.js', import.meta.url)),
    env: { NODE_ENV: 'test', NATS_URL: f.nats.url, HTTP_PORT: String(port) },
    readyUrl: `${url}/ready`,
  })
  const lease = await callTool(`${url}/mcp`, token, 'get_default_lease')
  t.match(lease.structuredContent, { effective_lease_ttl_seconds: 300 })
  const stream = await openStream(`${url}/mcp`, token)
  const ended = await service.stop()
  await stream.ended
  t.strictSame(ended, { code: 0, signal: null })
  t.notMatch(service.logs(), token)
})
