import { randomUUID } from 'node:crypto'
import {
  buckets,
  claimNext,
  complete,
  createTodo,
  headers as headerNames,
  streams,
  subjects,
  workKey,
} from '@guildhall/contracts'
import type { Guildhall, Queue } from './guildhall.ts'
import { payload } from './loads/payload.ts'
import { connectRpc } from './loads/rpc.ts'

/**
 * What the tasks service writes for one todo in its life, taken from its own streams; and streams
 * of the same form. So the bare loop moves the same bytes, and no form is written down twice.
 */

interface BareWork {
  readonly stream: string
  readonly consumer: string
  readonly work_prefix: string
  readonly record_prefix: string
  readonly records: { readonly pending: string; readonly claimed: string; readonly done: string }
  readonly message: { readonly data: string; readonly headers: Readonly<Record<string, string>> }
}

const lastText = async ({ jsm }: Guildhall, stream: string, subject: string) => {
  const message = await jsm.streams.getMessage(stream, { last_by_subj: subject })
  return { text: new TextDecoder().decode(message.data), headers: message.header }
}

/** What a stream may hold is set aside on the disk, which has no room for all of it twice. */
const COPY_MAX_BYTES = 512 * 1024 ** 2

/** A stream of the same form under other names. */
export const copyStream = async (
  { jsm }: Guildhall,
  from: string,
  name: string,
  subject: string,
): Promise<void> => {
  const { config } = await jsm.streams.info(from)
  await jsm.streams.add({ ...config, name, subjects: [subject], max_bytes: COPY_MAX_BYTES })
}

const copyLane = async (
  { jsm, laneOf }: Guildhall,
  queue: Queue,
  stream: string,
  consumer: string,
  filter: string,
): Promise<void> => {
  const { config } = await jsm.consumers.info(streams.work, laneOf(queue))
  await jsm.consumers.add(stream, {
    ...config,
    name: consumer,
    durable_name: consumer,
    filter_subject: filter,
  })
}

export const prepareBareWork = async (guildhall: Guildhall, queue: Queue): Promise<BareWork> => {
  const { principal, system } = guildhall
  const { user_id } = principal
  const rpc = await connectRpc(system.nats.url, principal)
  const todo = (await rpc.call(createTodo, { queue, title: 'Benchmark', payload })) as {
    id: string
  } // its contract says so
  const lane = { owner_id: user_id, queue: queue as never, priority: 'normal' } as const
  const subject = subjects.work(lane, todo.id)
  const record = async () => {
    const key = `$KV.${buckets.work}.${workKey(user_id, todo.id)}`
    return (await lastText(guildhall, `KV_${buckets.work}`, key)).text
  }
  const message = await lastText(guildhall, streams.work, subject)
  const pending = await record()
  const { lease_token } = (await rpc.call(claimNext, { queue })) as { lease_token: string } // as above
  const claimed = await record()
  await rpc.call(complete, { id: todo.id, lease_token })
  const done = await record()
  await rpc.nc.close()
  const run = randomUUID().slice(0, 8)
  const [stream, bucket, consumer] = [`BARE_WORK_${run}`, `BARE_KV_${run}`, 'lane']
  // As long as the real subjects and keys are.
  const work_prefix = `bare-${run}.${user_id}.${queue}`
  const record_prefix = `bare-kv-${run}.${user_id}`
  await copyStream(guildhall, streams.work, stream, `${work_prefix}.*`)
  await copyStream(guildhall, `KV_${buckets.work}`, bucket, `${record_prefix}.*`)
  await copyLane(guildhall, queue, stream, consumer, `${work_prefix}.*`)
  return {
    stream,
    consumer,
    work_prefix,
    record_prefix,
    records: { pending, claimed, done },
    message: {
      data: message.text,
      headers: { [headerNames.work]: message.headers.get(headerNames.work) },
    },
  }
}
