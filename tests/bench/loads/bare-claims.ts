import { randomUUID } from 'node:crypto'
import {
  connect,
  createInbox,
  type JetStreamClient,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  nanos,
  headers as natsHeaders,
} from 'nats'
import { drive, serveLoad } from '../load-process.ts'

/**
 * The least that a claim and its completion can cost on JetStream, straight from the client
 * library: pull, compare-and-set, delayed NAK, compare-and-set, ack. No caller, no schema, no
 * checks. Streams are of the same form as the real ones, records and messages of the same size.
 */

interface Connect {
  readonly nats_url: string
  readonly stream: string
  readonly consumer: string
  readonly work_prefix: string
  readonly record_prefix: string
  /** A record in each of its states, as the tasks service writes it. */
  readonly records: { readonly pending: string; readonly claimed: string; readonly done: string }
  readonly message: { readonly data: string; readonly headers: Readonly<Record<string, string>> }
}

interface Amount {
  readonly operations: number
  readonly workers: number
}

interface Opened extends Connect {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly headers: MsgHdrs
  /** Of each record, so that no read is needed before its first change. */
  readonly revisions: Map<string, number>
  readonly pulls: ((question: Uint8Array) => Promise<Msg>)[]
}

const NO_WAIT = Buffer.from(JSON.stringify({ batch: 1, no_wait: true }))
const LEASE_MS = 300_000

let opened: Opened | undefined

const current = (): Opened => {
  if (opened === undefined) throw new Error('connect first')
  return opened
}

/** A pulled message keeps its own subject, so each pull in flight needs an inbox of its own. */
const openPull = (nc: NatsConnection, subject: string) => {
  const inbox = createInbox()
  let settle: ((message: Msg) => void) | undefined
  nc.subscribe(inbox, { callback: (_error, message) => settle?.(message) })
  return (question: Uint8Array): Promise<Msg> =>
    new Promise((resolve) => {
      settle = resolve
      nc.publish(subject, question, { reply: inbox })
    })
}

const create = async ({ js, revisions, ...names }: Opened): Promise<void> => {
  const id = randomUUID()
  const { work_prefix, record_prefix, records, message, headers } = names
  const { seq } = await js.publish(`${record_prefix}.${id}`, records.pending, {
    expect: { lastSubjectSequence: 0 },
  })
  revisions.set(id, seq)
  await js.publish(`${work_prefix}.${id}`, message.data, {
    headers,
    expect: { lastSubjectSequence: 0 },
  })
}

const claimAndComplete = async (names: Opened, worker: number): Promise<boolean> => {
  const { nc, js, records, record_prefix, revisions, pulls } = names
  const message = await pulls[worker]?.(NO_WAIT)
  if (message?.reply === undefined || (message.headers?.code ?? 0) > 0) return false
  const id = message.subject.slice(message.subject.lastIndexOf('.') + 1)
  const subject = `${record_prefix}.${id}`
  const pending = revisions.get(id) ?? 0
  const { seq } = await js.publish(subject, records.claimed, {
    expect: { lastSubjectSequence: pending },
  })
  nc.publish(message.reply, `-NAK ${JSON.stringify({ delay: nanos(LEASE_MS) })}`)
  await js.publish(subject, records.done, { expect: { lastSubjectSequence: seq } })
  nc.publish(message.reply, '+ACK')
  revisions.delete(id)
  return true
}

export const steps = {
  connect: async (options: Connect) => {
    const nc = await connect({ servers: options.nats_url, name: 'bench-bare' })
    const headers = natsHeaders()
    for (const [name, value] of Object.entries(options.message.headers)) headers.set(name, value)
    opened = { ...options, nc, js: nc.jetstream(), headers, revisions: new Map(), pulls: [] }
  },
  fill: async ({ operations, workers }: Amount) => {
    const names = current()
    await drive(operations, workers, async () => {
      await create(names)
      return true
    })
  },
  drain: async ({ operations, workers }: Amount) => {
    const names = current()
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${names.stream}.${names.consumer}`
    while (names.pulls.length < workers) names.pulls.push(openPull(names.nc, subject))
    return await drive(operations, workers, (worker) => claimAndComplete(names, worker))
  },
}

export type BareClaims = typeof steps

serveLoad(steps)
