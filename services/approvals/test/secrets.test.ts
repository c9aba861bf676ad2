import {
  createApiToken,
  login,
  revokeEndpoint,
  rotateEndpoint,
  setPassword,
} from '@guildhall/contracts'
import t from 'tap'
import { newLoginLink } from '../src/first-owner.ts'
import { refusal, setup, tableRows } from './setup.ts'

const PASSWORD = 'correct horse battery'
const WRONG = 'wrong horse battery'

t.test('no table, no log line and no bucket holds a secret', async (t) => {
  const s = await setup(t)
  const as_ann = { principal: s.ann, idempotency_key: 'key-1' }
  const link = await newLoginLink(s.db, 'ann', new Date(s.clock.now()))
  const login_token = link?.login_token ?? ''
  const logIn = (proof: Parameters<typeof s.call<typeof login>>[1]['proof']) =>
    s.call(login, { proof, client_address: '192.0.2.1' }, { idempotency_key: 'key-1' })
  const { endpoint, token } = await s.vend({}, 'key-1')
  const { endpoint_id } = endpoint
  const rotated = await s.call(rotateEndpoint, { endpoint_id }, as_ann)
  const api = await s.call(createApiToken, { name: 'laptop' }, as_ann)
  await s.call(setPassword, { password: PASSWORD }, as_ann)
  await s.call(setPassword, { password: PASSWORD, current_password: WRONG }, as_ann)
  await logIn({ login_token })
  await logIn({ username: 'ann', password: PASSWORD })
  await refusal(logIn({ username: 'ann', password: WRONG }))
  await refusal(s.vend({ tools: ['fly'] }, 'key-2'))
  await s.call(revokeEndpoint, { endpoint_id }, as_ann)

  const tables = await tableRows(
    s.db,
    `select table_name from information_schema.tables where table_schema = 'public'`,
  )
  const dump: string[] = []
  for (const { table_name } of tables) {
    dump.push(JSON.stringify(await tableRows(s.db, `select * from ${table_name}`)))
  }
  const { state } = await s.bus.jsm.streams.info('KV_identity')
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const message = await s.bus.jsm.streams
      .getMessage('KV_identity', { seq })
      .catch(() => undefined)
    if (message !== undefined) dump.push(message.subject + Buffer.from(message.data).toString())
  }
  const everything = [...dump, ...s.log_lines].join('\n')
  const secrets = { token, rotated: rotated.token, api: api.token, login_token, PASSWORD, WRONG }

  t.match(everything, endpoint_id, 'the dump holds what it should')
  t.match(everything, 'call refused', 'the log was captured')
  for (const [name, secret] of Object.entries(secrets)) {
    t.ok(secret.length > 10)
    t.notOk(everything.includes(secret), `${name} is nowhere`)
  }
})

t.test('the audit log can only grow', async (t) => {
  const s = await setup(t)
  await s.vend()
  const refused = { message: /audit_log is append only/ }

  await t.rejects(tableRows(s.db, `update audit_log set actor = 'nobody'`), refused)
  await t.rejects(tableRows(s.db, 'delete from audit_log'), refused)
  await t.rejects(tableRows(s.db, 'truncate audit_log'), refused)
  const actor = `human:${s.ann.user_id}`
  t.strictSame(await tableRows(s.db, 'select action, actor from audit_log order by seq'), [
    { action: 'agent.created', actor },
    { action: 'endpoint.vended', actor },
  ])
})
