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

  const apply = (entry: KvEntry): void => {
    if (entry.operation !== 'PUT') {
      if (values.delete(entry.key)) onChange?.(entry.key, undefined)
      return
    }
    try {
      const value = decodeEntry(schema, entry.value)
      values.set(entry.key, value)
      onChange?.(entry.key, value)
    } catch (err) {
      // Refused, not guessed: an entry of an unknown version must not keep an old grant alive.
      values.delete(entry.key)
      onChange?.(entry.key, undefined)
      log.error({ err, bucket, revision: entry.revision }, 'unreadable entry dropped from mirror')
    }
  }

  const follow = async (kv: KV, onLoaded: () => void): Promise<void> => {
    watch = await kv.watch({ initializedFn: onLoaded })
    for await (const entry of watch) apply(entry)
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
    set: (key, value) => {
      values.set(key, value)
      onChange?.(key, value)
    },
    ready: () => loaded,
    start: () =>
      new Promise<void>((resolve) => {
        stopped = false
        running = run(() => {
          loaded = true
          resolve()
        })
      }),
    stop: async () => {
      stopped = true
      watch?.stop()
      wake?.()
      await running
    },
  }
}
