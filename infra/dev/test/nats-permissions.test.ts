import { execFileSync } from 'node:child_process'
import { natsBinary } from '@guildhall/testing'
import { AckPolicy, connect, type NatsConnection } from 'nats'
import t from 'tap'
import { brokerConfig } from '../src/broker.ts'
import { brokerSettings, startPermittedBroker, writeConfig } from './permitted-broker.ts'

for (const binary of ['newest', '2.9'] as const) {
  t.test(`the generated configuration passes the check of nats-server ${binary}`, async (t) => {
    const { path, version } = await natsBinary(binary)
    const text = brokerConfig(await brokerSettings(version))
    t.notMatch(text, /@[A-Z_]+@/)
    t.equal(text.includes('\n  sync_interval: always'), binary === 'newest')
    // Throws when the server finds a fault.
    execFileSync(path, ['-t', '-c', writeConfig(text)], { stdio: 'pipe' })
  })
}

t.test('on a running server', async (t) => {
  const { as, isRefused, url } = await startPermittedBroker(t)
  const admin = await as('admin')
  const manager = await admin.jetstreamManager()
  await manager.streams.add({ name: 'EVENTS', subjects: ['evt.>'] })
  await manager.streams.add({ name: 'WORK', subjects: ['work.>'] })
  await admin.jetstream().views.kv('identity')

  await t.test('nobody gets in without a login', async (t) => {
    await t.rejects(connect({ servers: url, reconnect: false }), /Authorization/)
  })

  await t.test('a call is answered, to an inbox that only the caller reads', async (t) => {
    const [gateway, tasks] = [await as('mcp-gateway'), await as('tasks')]
    tasks.subscribe('rpc.tasks.ping', { callback: (_, message) => void message.respond('pong') })
    await tasks.flush()
    const answer = await gateway.request('rpc.tasks.ping', '', { timeout: 2_000 })
    t.equal(answer.string(), 'pong')
    const listen = () => void tasks.subscribe('_INBOX_mcp-gateway.>')
    t.ok(await isRefused(tasks, listen))
  })

  await t.test('a service publishes its own events and no others', async (t) => {
    const [gateway, ingest] = [await as('mcp-gateway'), await as('ingest')]
    await ingest.jetstream().publish('evt.ingest.webhook.created.v1', '{}')
    t.ok(await isRefused(ingest, () => ingest.publish('evt.tasks.todo.completed.v1', '{}')))
    t.ok(await isRefused(gateway, () => gateway.publish('evt.tasks.todo.completed.v1', '{}')))
  })

  await t.test('ingest cannot read work, and no service can delete a stream', async (t) => {
    const [ingest, tasks] = [await as('ingest'), await as('tasks')]
    const read = () => ingest.publish('$JS.API.STREAM.MSG.GET.WORK', '{"seq":1}')
    t.ok(await isRefused(ingest, read))
    t.ok(await isRefused(tasks, () => tasks.publish('$JS.API.STREAM.DELETE.WORK', '')))
  })

  await t.test('approvals writes identities, the gateway watches and cannot write', async (t) => {
    const [approvals, gateway] = [await as('approvals'), await as('mcp-gateway')]
    const bind = (nc: NatsConnection) =>
      nc.jetstream({ timeout: 2_000 }).views.kv('identity', { bindOnly: true })
    await (await bind(approvals)).put('cred.1', 'one')
    const watch = await (await bind(gateway)).watch()
    for await (const entry of watch) {
      t.equal(entry.string(), 'one')
      break
    }
    const write = () => gateway.publish('$KV.identity.cred.1', 'forged')
    t.ok(await isRefused(gateway, write))
  })

  await t.test('tasks makes, pulls and acknowledges on its stream', async (t) => {
    const tasks = await as('tasks')
    const jetstream = tasks.jetstream({ timeout: 2_000 })
    await jetstream.publish('work.1.inbox.high.t1', '{}')
    const jsm = await tasks.jetstreamManager({ timeout: 2_000 })
    await jsm.consumers.add('WORK', {
      durable_name: 'lane-1',
      filter_subject: 'work.1.>',
      ack_policy: AckPolicy.Explicit,
    })
    const consumer = await jetstream.consumers.get('WORK', 'lane-1')
    const message = await consumer.next({ expires: 2_000 })
    t.equal(message?.subject, 'work.1.inbox.high.t1')
    t.ok(await message?.ackAck())
  })

  await t.test('ingest stores a large body, tasks reads it', async (t) => {
    await admin.jetstream().views.os('bodies')
    const [ingest, tasks] = [await as('ingest'), await as('tasks')]
    const open = (nc: NatsConnection) => nc.jetstream({ timeout: 2_000 }).views.os('bodies')
    const body = Buffer.alloc(500_000, 'a body')
    await (await open(ingest)).putBlob({ name: 'one' }, body)
    t.strictSame(Buffer.from((await (await open(tasks)).getBlob('one')) ?? []), body)
    await (await open(ingest)).delete('one')
  })
})
