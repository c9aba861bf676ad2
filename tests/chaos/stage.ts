import { type System, startSystem } from '@guildhall/testing'
import { z } from 'zod'
import type { Webhook } from './world.ts'

/** Where it all happens: the system, and what its owner sets up in it. */

export const REPLICAS = 2
/** The limits on rates are not what is tried here. */
const UNLIMITED = '10000'

export const startAll = (
  clock_file: (index: number) => string,
  tasks_env: NodeJS.ProcessEnv,
): Promise<System> =>
  startSystem({
    replicas: { 'mcp-gateway': REPLICAS, ingest: REPLICAS, tasks: REPLICAS },
    nats: { syncAlways: true },
    fsync: true,
    env: {
      tasks: tasks_env,
      ingest: {
        WEBHOOK_RATE_PER_SECOND: UNLIMITED,
        WEBHOOK_RATE_BURST: UNLIMITED,
        CLIENT_RATE_PER_SECOND: UNLIMITED,
        CLIENT_RATE_BURST: UNLIMITED,
      },
    },
    replicaEnv: (service, index) =>
      service === 'tasks' ? { CLOCK_OFFSET_FILE: clock_file(index) } : {},
  })

const asOwner = async (system: System, path: string, body: object): Promise<unknown> => {
  const response = await fetch(`${system.api_urls[0]}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${system.owner.api_token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return await response.json()
}

const Vended = z.object({ token: z.string() })

export const vend = async (system: System, name: string): Promise<string> => {
  const rate_limit = { per_second: 10_000, burst: 100_000 }
  const request = { agent: { name }, queues: ['inbox'], rate_limit }
  return Vended.parse(await asOwner(system, '/endpoints', request)).token
}

const CreatedWebhook = z.object({ ingest_url: z.url(), signing_secret: z.string() })

export const createWebhook = async (system: System): Promise<Webhook> => {
  const request = { source_type: 'github', target_queue: 'inbox' }
  const made = CreatedWebhook.parse(await asOwner(system, '/webhooks', request))
  return { path: new URL(made.ingest_url).pathname, secret: made.signing_secret }
}

/** The environment that loads a broken compare-and-set into a service. */
export const BREAK_CAS: NodeJS.ProcessEnv = {
  NODE_OPTIONS: `--import=${new URL('break-cas.js', import.meta.url).href}`,
}
