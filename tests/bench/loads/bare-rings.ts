import { randomUUID } from 'node:crypto'
import { connect, type JetStreamClient, type NatsConnection } from 'nats'
import { serveLoad } from '../load-process.ts'
import { eventBody } from './event-body.ts'

/**
 * The least that lies between a stored delivery and a ring: a consumer gets it, creates a record
 * and a work message, and rings on core NATS. One process, no schema, no checks.
 */

interface Connect {
  readonly nats_url: string
  readonly stream: string
  readonly consumer: string
  readonly delivery_prefix: string
  readonly work_prefix: string
  readonly record_prefix: string
  readonly record: string
}

interface Amount {
  readonly operations: number
}

interface Opened extends Connect {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly rung: Map<string, (at_ms: number) => void>
}

const BELL = 'bare-bell'

let opened: Opened | undefined

const serve = async ({ js, nc, ...names }: Opened): Promise<void> => {
  const consumer = await js.consumers.get(names.stream, names.consumer)
  for await (const message of await consumer.consume({ max_messages: 128 })) {
    const id = message.subject.slice(message.subject.lastIndexOf('.') + 1)
    const once = { expect: { lastSubjectSequence: 0 } }
    await js.publish(`${names.record_prefix}.${id}`, names.record, once)
    await js.publish(`${names.work_prefix}.${id}`, message.data, once)
    nc.publish(BELL, id)
    message.ack()
  }
}

const ringOnce = async ({ js, rung, delivery_prefix }: Opened): Promise<number> => {
  const id = randomUUID()
  const ring = new Promise<number>((resolve) => rung.set(id, resolve))
  await js.publish(`${delivery_prefix}.${id}`, eventBody())
  const stored_ms = performance.now()
  const rung_ms = await ring
  rung.delete(id)
  return Math.max(0, rung_ms - stored_ms)
}

export const steps = {
  connect: async (options: Connect) => {
    const nc = await connect({ servers: options.nats_url, name: 'bench-bare' })
    const rung = new Map<string, (at_ms: number) => void>()
    nc.subscribe(BELL, {
      callback: (_error, message) => rung.get(message.string())?.(performance.now()),
    })
    opened = { ...options, nc, js: nc.jetstream(), rung }
    void serve(opened)
  },
  /** One after the other. */
  ring: async ({ operations }: Amount) => {
    if (opened === undefined) throw new Error('connect first')
    const latencies_ms: number[] = []
    for (let i = 0; i < operations; i += 1) latencies_ms.push(await ringOnce(opened))
    const seconds = latencies_ms.reduce((sum, ms) => sum + ms, 0) / 1_000
    return { operations, seconds, latencies_ms }
  },
}

export type BareRings = typeof steps

serveLoad(steps)
