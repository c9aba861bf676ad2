import type { Logger, Part } from '@guildhall/runtime'
import type { KV, KvEntry, QueuedIterator } from 'nats'
import type { z } from 'zod'
import type { Bus } from './connect.ts'
import { decodeEntry } from './kv.ts'

/** A whole bucket in memory, kept current. For data that each call needs and that is small. */
export interface Mirror<T> extends Part {
  get(key: string): T | undefined
  entries(): IterableIterator<[string, T]>
  /** Shows a value now that the watch will bring in a moment; the watch has the last word. */
  set(key: string, value: T): void
  /** True once the bucket's content was seen whole. */
  ready(): boolean
}

interface MirrorOptions<T> {
  readonly log: Logger
  readonly onChange?: (key: string, value: T | undefined) => void
}

const RETRY_MS = 500

export const mirrorKv = <T>(
  bus: Bus,
  bucket: string,
  schema: z.ZodType<T>,
  { log, onChange }: MirrorOptions<T>,
): Mirror<T> => {
  const values = new Map<string, T>()
  let watch: QueuedIterator<KvEntry> | undefined
  let loaded = false
  let stopped = false
  let running: Promise<void> | undefined
  let wake: (() => void) | undefined

  const read = (entry: KvEntry): T | undefined => {
    if (entry.operation !== 'PUT') return undefined
    try {
      return decodeEntry(schema, entry.value)
    } catch (err) {
      // Refused, not guessed: an entry of an unknown version must not keep an old grant alive.
      log.error({ err, bucket, revision: entry.revision }, 'unreadable entry dropped from mirror')
      return undefined
    }
  }

  const change = (key: string, value: T | undefined): void => {
    if (value === undefined) values.delete(key)
    else values.set(key, value)
    try {
      onChange?.(key, value)
    } catch (err) {
      log.error({ err, bucket }, 'a listener of the mirror failed')
    }
  }

  const follow = async (kv: KV, onLoaded: () => void): Promise<void> => {
    watch = await kv.watch({ initializedFn: onLoaded })
    for await (const entry of watch) change(entry.key, read(entry))
  }

  const run = async (onLoaded: () => void): Promise<void> => {
    while (!stopped) {
      try {
        const kv = await bus.js.views.kv(bucket, { bindOnly: true })
        await follow(kv, onLoaded)
      } catch (err) {
        if (!stopped) log.warn({ err, bucket }, 'bucket watch ended, starting again')
      }
      if (stopped) return
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, RETRY_MS)
      })
    }
  }

  return {
    name: `mirror-${bucket}`,
    get: (key) => values.get(key),
    entries: () => values.entries(),
    set: change,
    ready: () => loaded,
    start: () =>
      new Promise<void>((resolve) => {
        stopped = false
        running = run(() => {
          loaded = true
          resolve()
        }).finally(resolve)
      }),
    stop: async () => {
      stopped = true
      watch?.stop()
      wake?.()
      await running
    },
  }
}
