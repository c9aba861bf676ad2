import { buckets, StandingRecord } from '@guildhall/contracts'
import t from 'tap'
import { advanceVersion, createKv, listKeys } from '../src/index.ts'
import { setup } from './setup.ts'

const record = (version: number): StandingRecord => ({
  v: 1,
  version,
  agent_id: 7,
  user_id: 1,
  quarantined: version % 2 === 0,
  reason: null,
  since: 0,
})

t.test('an entry only moves to a higher version, in whatever order versions come', async (t) => {
  const { bus } = await setup(t)
  const kv = createKv(bus, buckets.standing, StandingRecord)
  t.equal(await advanceVersion(kv, '1.7', record(2)), true)
  t.equal(await advanceVersion(kv, '1.7', record(2)), false)
  t.equal(await advanceVersion(kv, '1.7', record(1)), false)
  const versions = Array.from({ length: 20 }, (_, i) => i + 3)
  await Promise.all(versions.reverse().map((version) => advanceVersion(kv, '1.7', record(version))))
  t.equal((await kv.get('1.7'))?.value.version, 22)
})

t.test('keys are listed by what they match, also when none does', async (t) => {
  const { bus } = await setup(t)
  const kv = createKv(bus, buckets.standing, StandingRecord)
  for (const key of ['1.7', '1.8', '2.7']) await kv.put(key, record(1))
  await kv.delete('1.8')
  t.strictSame(await listKeys(bus, buckets.standing, '1.*'), ['1.7'])
  t.strictSame(await listKeys(bus, buckets.standing, '3.*'), [])
})
