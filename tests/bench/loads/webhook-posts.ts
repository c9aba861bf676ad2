import { createHmac, randomUUID } from 'node:crypto'
import { drive, serveLoad } from '../load-process.ts'
import { eventBody } from './event-body.ts'
import { encodeRequest, type HttpConnection, openHttp } from './http-connection.ts'

/** Deliveries as GitHub makes them, each new, built and signed before the clock runs. */

interface Connect {
  readonly ingest_url: string
  readonly secret: string
  readonly workers: number
}

interface Amount {
  readonly operations: number
}

let opened: (Connect & { readonly connections: readonly HttpConnection[] }) | undefined
let requests: Buffer[] = []

const current = () => {
  if (opened === undefined) throw new Error('connect first')
  return opened
}

export const steps = {
  connect: async (options: Connect) => {
    const url = new URL(options.ingest_url)
    const connections = await Promise.all(
      Array.from({ length: options.workers }, () => openHttp(url)),
    )
    opened = { ...options, connections }
  },
  prepare: async ({ operations }: Amount) => {
    const { ingest_url, secret } = current()
    requests = Array.from({ length: operations }, () => {
      const body = eventBody()
      const headers = {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      }
      return encodeRequest('POST', new URL(ingest_url), headers, body)
    })
  },
  post: async ({ operations }: Amount) => {
    const { connections } = current()
    return await drive(operations, connections.length, async (worker) => {
      const request = requests.pop()
      if (request === undefined) return false
      const response = await connections[worker]?.send(request)
      if (response?.status !== 202) {
        throw new Error(`HTTP ${response?.status}: ${response?.body}`)
      }
      return true
    })
  },
}

export type WebhookPosts = typeof steps

serveLoad(steps)
