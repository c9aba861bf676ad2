import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '@guildhall/testing'
import t from 'tap'
import { loadVaultConfig, SecretsConfig } from '../src/config.ts'
import { newMasterKey } from './setup.ts'

const good = { DATABASE_URL: 'postgres://x', VAULT_MASTER_KEYS: newMasterKey('k1') }
const load = (env: Readonly<Record<string, string>>) => loadVaultConfig(SecretsConfig, env)

t.test('without a master key nothing starts, and all faults are told', async (t) => {
  const entry = fileURLToPath(new URL('../src/main.js', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [entry], {
    env: { PATH: process.env.PATH, SECRETS_EXTRA_PORTS: 'x', SECRETS_ALLOWED_ADDRESSES: 'nowhere' },
    encoding: 'utf8',
  })
  t.equal(status, 1)
  for (const name of ['VAULT_MASTER_KEYS', 'DATABASE_URL', 'SECRETS_EXTRA_PORTS']) {
    t.match(stderr, name)
  }
  t.match(stderr, '"nowhere" is no address and no CIDR')
})

t.test('an unusable master key is refused without being repeated', async (t) => {
  const key = good.VAULT_MASTER_KEYS.slice(0, -6)
  t.throws(() => load({ ...good, VAULT_MASTER_KEYS: key }), /VAULT_MASTER_KEYS: key 1 of the ring/)
  try {
    load({ ...good, VAULT_MASTER_KEYS: key })
  } catch (error) {
    t.notMatch(String(error), key.slice(4, 30))
  }
})

t.test('a master key may come from a file', async (t) => {
  const file = join(temporaryDirectory('keys'), 'ring')
  writeFileSync(file, `${newMasterKey('from-file')}\n`)
  const { VAULT_MASTER_KEYS: _absent, ...rest } = good
  const config = load({ ...rest, VAULT_MASTER_KEYS_FILE: file })
  t.strictSame([...config.VAULT_MASTER_KEYS.keys()], ['from-file'])
  t.throws(() => load({ ...rest, VAULT_MASTER_KEYS_FILE: `${file}.none` }), /VAULT_MASTER_KEYS/)
})

t.test('by default calls go to public addresses on port 443 and nowhere else', async (t) => {
  const config = load(good)
  t.strictSame(config.SECRETS_EXTRA_PORTS, [])
  t.strictSame(config.SECRETS_ALLOWED_ADDRESSES, [])
  t.equal(config.SECRETS_EXTRA_CA, '')
  t.equal(config.SECRETS_STATIC_HOSTS.size, 0)
  t.equal(config.SECRETS_CALL_TIMEOUT_MS, 20_000)
})

t.test('names with fixed addresses are for tests, not for production', async (t) => {
  const SECRETS_STATIC_HOSTS = 'a.example=127.0.0.1, a.example=::1,b.example=10.0.0.1'
  const config = load({ ...good, NODE_ENV: 'test', SECRETS_STATIC_HOSTS })
  t.strictSame(config.SECRETS_STATIC_HOSTS.get('a.example'), ['127.0.0.1', '::1'])
  t.throws(() => load({ ...good, SECRETS_STATIC_HOSTS }), /must not be set in production/)
  t.throws(() => load({ ...good, NODE_ENV: 'test', SECRETS_STATIC_HOSTS: 'a' }), /form/)
})

t.test('certificates are read at the start', async (t) => {
  const file = join(temporaryDirectory('ca'), 'ca.pem')
  t.throws(() => load({ ...good, SECRETS_EXTRA_CA: file }), /SECRETS_EXTRA_CA/)
  writeFileSync(file, 'no certificate')
  t.throws(() => load({ ...good, SECRETS_EXTRA_CA: file }), /has no certificate/)
})
