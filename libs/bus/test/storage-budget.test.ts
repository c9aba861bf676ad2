import { STORAGE_MIN_BYTES, streams } from '@guildhall/contracts'
import { startNats, temporaryDirectory } from '@guildhall/testing'
import t from 'tap'
import { applyTopology, connectBus, publish, verifyTopology } from '../src/index.ts'
import { log, setup } from './setup.ts'

const GIB = 1024 ** 3

t.test('a small disk takes a small budget, and one beyond it is refused by name', async (t) => {
  const storeDir = temporaryDirectory('small-store')
  const nats = await startNats({
    storeDir,
    conf: `jetstream { store_dir: ${JSON.stringify(storeDir)}, max_file_store: ${2 * GIB} }`,
  })
  t.teardown(() => nats.stop())
  const bus = await connectBus({ url: nats.url, service: 'admin', log })
  t.teardown(() => bus.close())
  await t.rejects(applyTopology(bus), /stream \w+ cannot be brought to its declared form/)
  for (const storage_bytes of [STORAGE_MIN_BYTES, GIB]) {
    await applyTopology(bus, { storage_bytes })
    await verifyTopology(bus)
    const all = await bus.jsm.streams.list().next()
    const reserved = all.reduce((sum, { config }) => sum + config.max_bytes, 0)
    t.ok(reserved > 0.99 * storage_bytes && reserved <= storage_bytes, `${reserved} reserved`)
  }
})

t.test('a budget too small for what is stored is refused, and nothing is forgotten', async (t) => {
  const { bus } = await setup(t)
  const put = (name: string) => publish(bus, `work.1.a.normal.${name}`, Buffer.alloc(100_000))
  for (const name of ['a', 'b', 'c']) await put(name)
  await t.rejects(applyTopology(bus, { storage_bytes: 1_000_000 }), {
    message: /stream WORK cannot be brought/,
    cause: { message: /holds \d+ bytes, more than 200000/ },
  })
  await applyTopology(bus, { storage_bytes: 2_000_000 })
  await t.rejects(put('d'), { code: 'unavailable' }, 'it is full')
  await applyTopology(bus)
  await put('d')
  t.equal((await bus.jsm.streams.info(streams.work)).state.messages, 5, 'four and the guard')
})
