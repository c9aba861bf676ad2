import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '@guildhall/testing'
import type { Answer } from './http.ts'

/**
 * What stands before the replicas in production: it asks each whether it is ready, and sends new
 * connections to those that are. It repeats nothing but a connection that was refused, as then
 * nothing was sent.
 */

const PROBE_EVERY_MS = 50

interface Replica {
  readonly url: string
  readonly ops_url: string
}

interface Balancer {
  post(headers: Readonly<Record<string, string>>, body: string, path?: string): Promise<Answer>
  stop(): void
}

const isReady = async (ops_url: string): Promise<boolean> => {
  try {
    return (await fetch(`${ops_url}/ready`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One connection per request: an idle one that is closed while it is used again is no news. */
const postOnce = (url: string, headers: object, body: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body)
    const options = {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': `${length}` },
    }
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const status = response.statusCode ?? 0
        const flat = Object.entries(response.headers).map(([name, value]) => [name, `${value}`])
        const received = new Headers(Object.fromEntries(flat))
        resolve({ status, headers: received, text, body: parse(text) })
      })
    })
    sent.once('error', reject)
    sent.end(body)
  })

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'

export const balancer = (replicas: readonly Replica[]): Balancer => {
  const ready = new Set(replicas)
  let stopped = false
  let turn = 0
  const probe = async (replica: Replica): Promise<void> => {
    while (!stopped) {
      if (await isReady(replica.ops_url)) ready.add(replica)
      else ready.delete(replica)
      await sleep(PROBE_EVERY_MS)
    }
  }
  for (const replica of replicas) void probe(replica)
  const pick = (): Replica | undefined => {
    turn += 1
    return [...ready][turn % ready.size]
  }
  return {
    post: async (headers, body, path = '') => {
      for (;;) {
        const replica = pick() ?? (await waitFor(pick, { what: 'a replica that is ready' }))
        try {
          return await postOnce(`${replica.url}${path}`, headers, body)
        } catch (error) {
          if (!isRefused(error)) throw error
          ready.delete(replica)
        }
      }
    },
    stop: () => {
      stopped = true
    },
  }
}
