import { connect, type NatsConnection } from 'nats'
import t from 'tap'
import { startNats } from '../src/index.ts'

const MIB = 1024 * 1024

const publishOne = async (nc: NatsConnection, text: string): Promise<void> => {
  const manager = await nc.jetstreamManager()
  await manager.streams.add({ name: 'KEPT', subjects: ['kept.>'] })
  await nc.jetstream().publish('kept.one', text)
}

const storedCount = async (url: string): Promise<number> => {
  const nc = await connect({ servers: url })
  const info = await (await nc.jetstreamManager()).streams.info('KEPT')
  await nc.close()
  return info.state.messages
}

t.test('an acknowledged message is still there after kill -9 and a restart', async (t) => {
  const server = await startNats({ syncAlways: true })
  const nc = await connect({ servers: server.url })
  await publishOne(nc, 'hello')
  await nc.close()
  const pid = server.pid

  await server.kill()
  t.equal(server.running, false)
  await server.restart()

  t.not(server.pid, pid)
  t.equal(await storedCount(server.url), 1)
  await server.stop()
})

t.test('a payload of 8 MiB is accepted, as in production', async (t) => {
  const server = await startNats()
  const nc = await connect({ servers: server.url })
  t.equal(nc.info?.max_payload, 8 * MIB)
  await nc.close()
  await server.stop()
})

t.test('two servers at once do not share a store', async (t) => {
  const [one, two] = await Promise.all([startNats(), startNats()])
  t.not(one.port, two.port)
  t.not(one.storeDir, two.storeDir)
  await Promise.all([one.stop(), two.stop()])
})

t.test('the old server of the compatibility tests can be asked for', async (t) => {
  const server = await startNats({ binary: '2.9', syncAlways: true })
  t.match(server.version, /^2\.9\./)
  await server.stop()
})

t.test('a configuration that the server refuses is reported in its words', async (t) => {
  await t.rejects(startNats({ conf: 'no_such_setting: 1' }), /no_such_setting/)
})

t.test('extra configuration is used', async (t) => {
  const server = await startNats({ conf: 'authorization { user: u, password: p }' })
  await t.rejects(connect({ servers: server.url }), /Authorization/)
  const nc = await connect({ servers: server.url, user: 'u', pass: 'p' })
  await nc.close()
  await server.stop()
})
