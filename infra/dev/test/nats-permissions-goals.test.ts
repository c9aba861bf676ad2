import { AckPolicy, type NatsConnection } from 'nats'
import t from 'tap'
import { NATS_USERS } from '../src/nats-permissions.ts'
import { startPermittedBroker } from './permitted-broker.ts'

// What goals, agents, reputation and secrets say to each other, on a running server.

const SERVICES = NATS_USERS.filter((user) => user !== 'admin')
const WRITERS = {
  identity: ['approvals'],
  agents: ['approvals'],
  goals: ['tasks'],
  work: ['tasks'],
  standing: ['reputation'],
} as const
const READERS = {
  approvals: ['goals', 'work'],
  tasks: ['agents', 'standing'],
  reputation: ['agents'],
  secrets: ['agents', 'goals', 'work', 'standing'],
} as const

t.test('the services of goals', async (t) => {
  const { as, isRefused } = await startPermittedBroker(t)
  const admin = await as('admin')
  const manager = await admin.jetstreamManager()
  await manager.streams.add({ name: 'EVENTS', subjects: ['evt.>'] })
  for (const bucket of Object.keys(WRITERS)) await admin.jetstream().views.kv(bucket)
  const durable = (stream: string, durable_name: string, filter_subject: string) =>
    manager.consumers.add(stream, { durable_name, filter_subject, ack_policy: AckPolicy.Explicit })
  await durable('KV_work', 'tasks-projection', '$KV.work.>')

  const connections = new Map<string, NatsConnection>()
  for (const service of SERVICES) connections.set(service, await as(service))
  const of = (service: string): NatsConnection => connections.get(service)!
  const bucketOf = (service: string, bucket: string) =>
    of(service).jetstream({ timeout: 2_000 }).views.kv(bucket, { bindOnly: true })

  for (const [bucket, writers] of Object.entries(WRITERS)) {
    await t.test(`the bucket ${bucket} is written by ${writers.join()} alone`, async (t) => {
      for (const writer of writers) await (await bucketOf(writer, bucket)).put('1.2', bucket)
      const others = SERVICES.filter((service) => !writers.some((writer) => writer === service))
      for (const service of others) {
        const write = () => of(service).publish(`$KV.${bucket}.1.2`, 'forged')
        t.ok(await isRefused(of(service), write), service)
      }
      t.equal((await (await bucketOf(writers[0], bucket)).get('1.2'))?.string(), bucket)
    })
  }

  for (const [service, buckets] of Object.entries(READERS)) {
    await t.test(`${service} reads and watches ${buckets.join(', ')}`, async (t) => {
      for (const bucket of buckets) {
        const store = await bucketOf(service, bucket)
        t.equal((await store.get('1.2'))?.string(), bucket)
        for await (const entry of await store.watch()) {
          t.equal(entry.string(), bucket)
          break
        }
      }
    })
  }

  await t.test('the verifier hears what to run, says how it ended, and no more', async (t) => {
    const verifier = of('verifier')
    await durable('EVENTS', 'verifier-commands', 'evt.tasks.command.requested.v1')
    await durable('EVENTS', 'approvals-trees', 'evt.tasks.tree.settled.v1')
    await of('tasks').jetstream().publish('evt.tasks.command.requested.v1', '{}')
    const jetstream = verifier.jetstream({ timeout: 2_000 })
    const consumer = await jetstream.consumers.get('EVENTS', 'verifier-commands')
    t.ok(await (await consumer.next({ expires: 2_000 }))?.ackAck())
    await jetstream.publish('evt.verifier.command.finished.v1', '{}')

    const inbox = '_INBOX_verifier.1'
    const asks = (subject: string) => () => verifier.publish(subject, '{"seq":1}', { reply: inbox })
    for (const subject of [
      ...Object.keys(WRITERS).flatMap((bucket) => [
        `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
        `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.1.2`,
        `$JS.API.CONSUMER.CREATE.KV_${bucket}`,
      ]),
      '$JS.API.STREAM.MSG.GET.EVENTS',
      '$JS.API.DIRECT.GET.EVENTS',
      '$JS.API.CONSUMER.CREATE.EVENTS',
      '$JS.API.CONSUMER.MSG.NEXT.EVENTS.approvals-trees',
      'evt.tasks.command.requested.v1',
      'evt.tasks.evidence.earned.v1',
      'rpc.secrets.call_with_secret',
      'rpc.approvals.decide_approval',
    ]) {
      t.ok(await isRefused(verifier, asks(subject)), subject)
    }
    for (const subject of ['evt.>', '$KV.>', 'rpc.approvals.>', '_INBOX_secrets.>']) {
      t.ok(await isRefused(verifier, () => void verifier.subscribe(subject)), subject)
    }
  })

  await t.test('only the gateway calls other services', async (t) => {
    for (const service of SERVICES) {
      const call = () => of(service).publish('rpc.secrets.set_secret', '{}')
      // A service may serve its own subjects; nobody but the gateway may send to any.
      t.equal(await isRefused(of(service), call), service !== 'mcp-gateway', service)
    }
  })

  await t.test('each says its own events, and those of no other', async (t) => {
    for (const service of ['approvals', 'tasks', 'reputation', 'secrets', 'verifier']) {
      await of(service).jetstream().publish(`evt.${service}.notice.posted.v1`, '{}')
      const other = service === 'approvals' ? 'reputation' : 'approvals'
      const forge = () => of(service).publish(`evt.${other}.notice.posted.v1`, '{}')
      t.ok(await isRefused(of(service), forge), service)
    }
  })

  await t.test('whoever reads a bucket cannot touch the consumer of another there', async (t) => {
    for (const service of ['approvals', 'secrets']) {
      for (const subject of [
        '$JS.API.CONSUMER.DELETE.KV_work.tasks-projection',
        '$JS.API.CONSUMER.DURABLE.CREATE.KV_work.tasks-projection',
        '$JS.API.CONSUMER.CREATE.KV_work.tasks-projection.$KV.work.>',
        '$JS.API.CONSUMER.MSG.NEXT.KV_work.tasks-projection',
      ]) {
        const touch = () => of(service).publish(subject, '{}')
        t.ok(await isRefused(of(service), touch), `${service} ${subject}`)
      }
    }
    t.equal((await manager.consumers.info('KV_work', 'tasks-projection')).name, 'tasks-projection')
  })
})
