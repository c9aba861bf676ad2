import { Buffer } from 'node:buffer'
import type { z } from 'zod'
import type { Bus } from './connect.ts'
import { lastOfSubject } from './direct-get.ts'
import { busUnavailable, isCasConflict } from './errors.ts'
import { toHeaders } from './publish.ts'

/**
 * Typed access to a KV bucket. Written straight on the bucket's stream (NATS ADR-8) instead of
 * through the client's KV view, because each operation here is then exactly one round trip.
 */
export interface Kv<T> {
  readonly bucket: string
  get(key: string): Promise<Entry<T> | undefined>
  /** The revision, or undefined when the key exists. */
  create(key: string, value: T): Promise<number | undefined>
  /** The new revision, or undefined when `revision` is not the newest: the CAS is lost. */
  update(key: string, value: T, revision: number): Promise<number | undefined>
  put(key: string, value: T): Promise<number>
  /** Leaves a marker, as the KV convention has it. */
  delete(key: string): Promise<void>
  /** Removes a value and every trace of it, unless somebody wrote since: then false. */
  withdraw(key: string, revision: number): Promise<boolean>
  /** Removes every trace, for keys that will not come back: markers would pile up for ever. */
  forget(key: string): Promise<void>
}

export interface Entry<T> {
  readonly value: T
  readonly revision: number
}

const OPERATION_HEADER = 'KV-Operation'

export const decodeEntry = <T>(schema: z.ZodType<T>, data: Uint8Array): T =>
  schema.parse(JSON.parse(Buffer.from(data).toString('utf8')))

const withdraw = async (
  bus: Bus,
  stream: string,
  subject: string,
  revision: number,
): Promise<boolean> => {
  try {
    const marker = await bus.js.publish(subject, new Uint8Array(), {
      headers: toHeaders({ [OPERATION_HEADER]: 'DEL' }),
      expect: { lastSubjectSequence: revision },
    })
    // Up to the marker and no further: the key may be in use again already.
    await bus.jsm.streams.purge(stream, { filter: subject, seq: marker.seq + 1 })
    return true
  } catch (error) {
    if (isCasConflict(error)) return false
    throw busUnavailable(error)
  }
}

export const createKv = <T>(bus: Bus, bucket: string, schema: z.ZodType<T>): Kv<T> => {
  const subject = (key: string) => `$KV.${bucket}.${key}`
  const stream = `KV_${bucket}`

  const write = async (key: string, value: T, revision: number): Promise<number | undefined> => {
    try {
      const ack = await bus.js.publish(subject(key), JSON.stringify(value), {
        expect: { lastSubjectSequence: revision },
      })
      return ack.seq
    } catch (error) {
      if (isCasConflict(error)) return undefined
      throw busUnavailable(error)
    }
  }

  const read = async (key: string): Promise<Entry<T> | { deleted: number } | undefined> => {
    const message = await lastOfSubject(bus, stream, subject(key))
    if (message === undefined) return undefined
    if (OPERATION_HEADER in message.headers) return { deleted: message.sequence }
    return { value: decodeEntry(schema, message.data), revision: message.sequence }
  }

  return {
    bucket,
    get: async (key) => {
      const entry = await read(key)
      return entry === undefined || 'deleted' in entry ? undefined : entry
    },
    create: async (key, value) => {
      const revision = await write(key, value, 0)
      if (revision !== undefined) return revision
      const existing = await read(key)
      if (existing === undefined || !('deleted' in existing)) return undefined
      return await write(key, value, existing.deleted)
    },
    update: write,
    put: async (key, value) => {
      try {
        return (await bus.js.publish(subject(key), JSON.stringify(value))).seq
      } catch (error) {
        throw busUnavailable(error)
      }
    },
    withdraw: (key, revision) => withdraw(bus, stream, subject(key), revision),
    forget: async (key) => {
      try {
        await bus.jsm.streams.purge(stream, { filter: subject(key) })
      } catch (error) {
        throw busUnavailable(error)
      }
    },
    delete: async (key) => {
      try {
        await bus.js.publish(subject(key), new Uint8Array(), {
          headers: toHeaders({ [OPERATION_HEADER]: 'DEL' }),
        })
      } catch (error) {
        throw busUnavailable(error)
      }
    },
  }
}

/**
 * Every live entry of a bucket, once, as it is now; for reconciliation, not for calls. Unreadable
 * entries are handed out without a value, so that the caller decides.
 */
export async function* scanKv<T>(
  bus: Bus,
  bucket: string,
  schema: z.ZodType<T>,
): AsyncGenerator<{ key: string; revision: number; value: T | undefined }> {
  const kv = await bus.js.views.kv(bucket, { bindOnly: true })
  if ((await kv.status()).values === 0) return
  const watch = await kv.watch()
  for await (const entry of watch) {
    if (entry.operation === 'PUT') {
      const parsed = schema.safeParse(JSON.parse(Buffer.from(entry.value).toString('utf8')))
      yield { key: entry.key, revision: entry.revision, value: parsed.data }
    }
    // What came in meanwhile is somebody else's fresh work.
    if (entry.delta === 0) break
  }
  watch.stop()
}

/** The live keys of a bucket that match, in no order. */
export const listKeys = async (bus: Bus, bucket: string, filter: string): Promise<string[]> => {
  try {
    const kv = await bus.js.views.kv(bucket, { bindOnly: true })
    const keys: string[] = []
    for await (const key of await kv.keys(filter)) keys.push(key)
    return keys
  } catch (error) {
    throw busUnavailable(error)
  }
}
