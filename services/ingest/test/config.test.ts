import { ConfigError, loadConfig } from '@guildhall/runtime'
import t from 'tap'
import { IngestConfig } from '../src/config.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const good = {
  PUBLIC_INGEST_URL: 'https://in.example/base/',
  DATABASE_URL: 'postgres://db/ingest',
  SECRETS_MASTER_KEYS: `k1:${key}`,
}

const faults = (env: Record<string, string>): string => {
  try {
    loadConfig(IngestConfig, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the configuration was taken')
}

t.test('settings are parsed once, with defaults', async (t) => {
  const config = loadConfig(IngestConfig, { ...good, TRUSTED_PROXIES: '10.0.0.0/8, ::1' })
  t.equal(config.PUBLIC_INGEST_URL, 'https://in.example/base')
  t.equal(config.TRUSTED_PROXIES.length, 2)
  t.strictSame([...config.SECRETS_MASTER_KEYS.keys()], ['k1'])
  t.match(config, { WEBHOOK_RATE_PER_SECOND: 50, WEBHOOK_RATE_BURST: 200 })
  t.strictSame(loadConfig(IngestConfig, good).TRUSTED_PROXIES, [])
})

t.test('every fault is named, and no key is repeated', async (t) => {
  const text = faults({
    PUBLIC_INGEST_URL: 'ftp://x',
    SECRETS_MASTER_KEYS: `k1:${key.slice(4)}`,
    TRUSTED_PROXIES: '10.0.0.0/8,nonsense',
    WEBHOOK_RATE_BURST: '0',
  })
  for (const name of [
    'PUBLIC_INGEST_URL',
    'DATABASE_URL',
    'SECRETS_MASTER_KEYS: key 1 of the ring is not the base64 of 32 bytes',
    'TRUSTED_PROXIES: "nonsense" is no address and no CIDR',
    'WEBHOOK_RATE_BURST',
  ]) {
    t.ok(text.includes(name), name)
  }
  t.notOk(text.includes(key.slice(4)))
})

t.test('there is no mode without keys', async (t) => {
  for (const ring of ['', 'plain', 'off']) {
    t.match(faults({ ...good, SECRETS_MASTER_KEYS: ring }), /SECRETS_MASTER_KEYS/, ring)
  }
})
