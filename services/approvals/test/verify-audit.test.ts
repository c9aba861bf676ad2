import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { transaction } from '@guildhall/db'
import t from 'tap'
import { type Setup, setup } from './setup.ts'

const ENTRY = fileURLToPath(new URL('../src/verify-audit.js', import.meta.url))

const verify = ({ database_url }: Setup): Promise<{ code: number; answer: unknown }> =>
  new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH, NODE_ENV: 'test', DATABASE_URL: database_url }
    const nats = { NATS_URL: 'nats://127.0.0.1:1' } // named by the settings, never connected to
    execFile(process.execPath, [ENTRY], { env: { ...env, ...nats } }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr))
      else resolve({ code: error === null ? 0 : Number(error.code), answer: JSON.parse(stdout) })
    })
  })

t.test('the command says that all is well, or which row is the first that is not', async (t) => {
  const s = await setup(t)
  await s.vend()
  await s.vend({ agent: { name: 'second' } })
  const well = await verify(s)
  await transaction(s.db, async (trx) => {
    await trx.raw('alter table audit_log disable trigger user')
    await trx.raw(`delete from audit_log where user_id = ${s.ann.user_id} and seq = 2`)
    await trx.raw('alter table audit_log enable trigger user')
  })

  t.match(well, { code: 0, answer: { chains: 2, broken: null } })
  t.match(await verify(s), {
    code: 1,
    answer: { broken: { chain: s.ann.user_id, seq: 2, audit_id: null } },
  })
})
