import { randomUUID } from 'node:crypto'
import { connect, type JetStreamClient } from 'nats'
import { drive, serveLoad } from '../load-process.ts'
import { eventBody } from './event-body.ts'

/** Publishes bodies to a stream, each to a subject of its own, and waits for the acknowledgement. */

interface Connect {
  readonly nats_url: string
  readonly subject_prefix: string
}

interface Amount {
  readonly operations: number
  readonly workers: number
}

let opened: (Connect & { readonly js: JetStreamClient }) | undefined
let bodies: Buffer[] = []

export const steps = {
  connect: async (options: Connect) => {
    const nc = await connect({ servers: options.nats_url, name: 'bench-bare' })
    opened = { ...options, js: nc.jetstream() }
  },
  prepare: async ({ operations }: Pick<Amount, 'operations'>) => {
    bodies = Array.from({ length: operations }, () => Buffer.from(eventBody()))
  },
  publish: async ({ operations, workers }: Amount) => {
    if (opened === undefined) throw new Error('connect first')
    const { js, subject_prefix } = opened
    return await drive(operations, workers, async () => {
      const body = bodies.pop()
      if (body === undefined) return false
      await js.publish(`${subject_prefix}.${randomUUID()}`, body)
      return true
    })
  },
}

export type BarePublishes = typeof steps

serveLoad(steps)
