import { bodyStore } from '@guildhall/contracts'
import type { ObjectStore } from 'nats'
import type { Bus } from './connect.ts'
import { busUnavailable } from './errors.ts'

/** Bodies that exceed a message. Names are made by the caller and never reused for other bytes. */
export interface BodyStore {
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  delete(name: string): Promise<void>
}

export const openBodyStore = (bus: Bus): BodyStore => {
  let opened: Promise<ObjectStore> | undefined
  const store = (): Promise<ObjectStore> => {
    opened ??= bus.js.views.os(bodyStore, { bindOnly: true } as object) // bindOnly is not in its type
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
  const guarded = async <T>(work: (os: ObjectStore) => Promise<T>): Promise<T> => {
    try {
      return await work(await store())
    } catch (error) {
      throw busUnavailable(error)
    }
  }
  return {
    put: (name, bytes) =>
      guarded(async (os) => {
        await os.putBlob({ name }, bytes)
      }),
    get: (name) => guarded(async (os) => (await os.getBlob(name)) ?? undefined),
    delete: (name) =>
      guarded(async (os) => {
        await os.delete(name)
      }),
  }
}
