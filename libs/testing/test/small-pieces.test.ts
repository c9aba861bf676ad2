import { createServer } from 'node:net'
import t from 'tap'
import { freePort, isPortFree, ManualClock, processIdentity, waitFor } from '../src/index.ts'

t.test('waitFor answers the first truthy value', async (t) => {
  let calls = 0
  const check = () => (++calls === 3 ? 'third' : undefined)
  t.equal(await waitFor(check, { interval_ms: 1, what: 'the third call' }), 'third')
})

t.test('waitFor names what it waited for, and keeps the last error', async (t) => {
  const cause = new Error('refused')
  const waiting = waitFor(() => Promise.reject(cause), { timeout_ms: 30, what: 'the moon' })
  await t.rejects(waiting, { message: 'timed out after 30 ms waiting for the moon', cause })
})

t.test('a manual clock moves only when told, also backwards', async (t) => {
  const clock = new ManualClock(1_000)
  clock.advance(500)
  t.equal(clock.now(), 1_500)
  clock.set(10)
  t.equal(clock.now(), 10)
})

t.test('a free port can be listened on, and is below the ephemeral range', async (t) => {
  const port = await freePort()
  t.ok(port < 32_768)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.equal(await isPortFree(port), false)
  server.close()
})

t.test('a process has one identity, and none when it does not run', async (t) => {
  t.ok(processIdentity(process.pid))
  t.equal(processIdentity(process.pid), processIdentity(process.pid))
  t.not(processIdentity(process.pid), processIdentity(process.ppid))
  t.equal(processIdentity(2 ** 30), undefined)
})
