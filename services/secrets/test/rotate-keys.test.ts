import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listSecrets } from '@guildhall/contracts'
import { parseKeyRing } from '@guildhall/runtime'
import { temporaryDirectory } from '@guildhall/testing'
import t from 'tap'
import { checkKeys } from '../src/check-keys.ts'
import { createVault } from '../src/envelope.ts'
import { REWRAP_PAGE } from '../src/limits.ts'
import { rotateKeys } from '../src/rotate-keys.ts'
import { findWithinReach, useSecret } from '../src/store/secrets.ts'
import { storeVersion } from '../src/store-version.ts'
import { newMasterKey, type Setup, setup } from './setup.ts'

const secretValue = async (s: Setup, name: string, ring = s.deps.vault) => {
  const reach = { user_id: s.owner.user_id, agent_id: null, task_id: null }
  const row = await findWithinReach(s.db, reach, name)
  const used = row && (await useSecret(s.db, row, new Date(s.clock.now())))
  return used && ring.open(used, used).toString('utf8')
}

/** Stored by this very process: of two replicas either may take a call. */
const store = (
  s: Setup,
  ring: string,
  name: string,
  value: string,
  [scope_type, scope_id]: readonly ['user' | 'agent', number] = ['user', s.owner.user_id],
) =>
  storeVersion(
    { ...s.deps, vault: createVault(parseKeyRing(ring)) },
    { user_id: s.owner.user_id, scope_type, scope_id, name },
    { change: 'set', value, hosts: [], idempotency_key: undefined },
  )

const k1 = newMasterKey('k1')
const k2 = newMasterKey('k2')
const both = `${k2},${k1}`

t.test('a master key is replaced while values stay readable', async (t) => {
  const s = await setup(t, { master_keys: both })
  const { user_id } = s.owner
  const total = REWRAP_PAGE + 5
  for (let i = 0; i < total; i += 1) {
    // Two scopes, since each has its ceiling.
    const [scope, id] = i % 2 === 0 ? (['user', user_id] as const) : (['agent', 42] as const)
    await store(s, k1, `K${i}`, `value-number-${i}`, [scope, id])
  }
  t.equal(await secretValue(s, 'K0'), 'value-number-0', 'the old key opens while both are there')
  let reading = true
  const reads: (string | undefined)[] = []
  const reader = (async () => {
    while (reading) reads.push(await secretValue(s, 'K204'))
  })()
  const rotated = await rotateKeys(s.db, s.deps.vault, s.deps.log)
  reading = false
  await reader
  t.strictSame(rotated, { seen: total, rewrapped: total, passed: 0, failed: 0 })
  t.ok(reads.length > 0)
  t.ok(reads.every((value) => value === 'value-number-204'))
  t.strictSame(await rotateKeys(s.db, s.deps.vault, s.deps.log), {
    seen: 0,
    rewrapped: 0,
    passed: 0,
    failed: 0,
  })
  const only_new = createVault(parseKeyRing(k2))
  for (const i of [0, 2, 204]) {
    t.equal(await secretValue(s, `K${i}`, only_new), `value-number-${i}`, 'without the old key')
  }
  await t.rejects(secretValue(s, 'K0', createVault(parseKeyRing(k1))), 'the old key opens no more')
})

t.test('two runs at once, and a run that was broken off, do no harm', async (t) => {
  const s = await setup(t, { master_keys: both })
  for (let i = 0; i < 40; i += 1) await store(s, k1, `K${i}`, `value-number-${i}`)
  let logged = 0
  const dying = {
    ...s.deps.vault,
    rewrap: (...args: Parameters<typeof s.deps.vault.rewrap>) => {
      logged += 1
      if (logged > 10) throw new Error('as if the process had died')
      return s.deps.vault.rewrap(...args)
    },
  }
  t.match(await rotateKeys(s.db, dying, s.deps.log), { seen: 40, rewrapped: 10, failed: 30 })
  const [a, b] = await Promise.all([
    rotateKeys(s.db, s.deps.vault, s.deps.log),
    rotateKeys(s.db, s.deps.vault, s.deps.log),
  ])
  t.equal(a.rewrapped + b.rewrapped, 30, 'each row once')
  t.equal(a.failed + b.failed, 0)
  for (let i = 0; i < 40; i += 1) t.equal(await secretValue(s, `K${i}`), `value-number-${i}`)
})

t.test('a row that was moved or changed does not open', async (t) => {
  const s = await setup(t)
  const { user_id } = s.owner
  await s.set('user', user_id, 'A', 'value-of-a-here')
  await s.set('user', user_id, 'B', 'value-of-b-here')
  const [a] = await s.db('secrets').where({ name: 'A' })
  const { master_key_id, wrapped_key, sealed } = a
  await s.db('secrets').where({ name: 'B' }).update({ master_key_id, wrapped_key, sealed })
  await t.rejects(secretValue(s, 'B'), 'sealed for another name')
  await s.db('secrets').where({ name: 'A' }).update({ version: 9 })
  await t.rejects(secretValue(s, 'A'), 'sealed for another version')
})

t.test('a missing key is told at the start and stops only what needs it', async (t) => {
  const s = await setup(t, { master_keys: k2 })
  await store(s, k1, 'OLD', 'value-of-old')
  await s.set('user', s.owner.user_id, 'NEW', 'value-of-new')
  await checkKeys(s.deps).start()
  t.match(s.log_lines.join('\n'), /"master_key_id":"k1","secrets":1/)
  t.match(await s.ready(), { database: true, schema: true, bus: true })
  t.equal(await secretValue(s, 'NEW'), 'value-of-new')
  await t.rejects(secretValue(s, 'OLD'), { message: 'the key ring has no key "k1"' })
  const scope = { scope_type: 'user', scope_id: s.owner.user_id } as const
  t.equal((await s.call(listSecrets, scope, s.owner)).secrets.length, 2)
  t.match(await rotateKeys(s.db, s.deps.vault, s.deps.log), { seen: 1, failed: 1 })
})

const run = promisify(execFile)
const entry = fileURLToPath(new URL('../src/rotate-master-key.js', import.meta.url))

t.test('the command counts what it did, and takes its keys from a file', async (t) => {
  const s = await setup(t, { master_keys: k1 })
  await s.set('user', s.owner.user_id, 'KEY', 'value-of-key')
  const file = join(temporaryDirectory('keys'), 'ring')
  writeFileSync(file, `${both}\n`)
  const env = { PATH: process.env.PATH, DATABASE_URL: s.database_url }
  const { stdout } = await run(process.execPath, [entry], {
    env: { ...env, VAULT_MASTER_KEYS_FILE: file },
  })
  t.strictSame(JSON.parse(stdout), { seen: 1, rewrapped: 1, passed: 0, failed: 0 })
  const failing = run(process.execPath, [entry], {
    env: { ...env, VAULT_MASTER_KEYS: newMasterKey('k3') },
  })
  await t.rejects(failing, { code: 1, stdout: /"failed":1/ })
})
