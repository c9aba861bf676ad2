import type { Logger } from '@guildhall/runtime'
import {
  connect,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
} from 'nats'

export interface Bus {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly service: string
  readonly log: Logger
  readonly server_version: string
  /** Bytes that one message may have, headers included. */
  readonly max_payload: number
  connected(): boolean
  close(): Promise<void>
}

interface BusOptions {
  readonly url: string
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly service: string
  readonly log: Logger
}

const PING_INTERVAL_MS = 20_000
const RECONNECT_WAIT_MS = 250
const REQUEST_TIMEOUT_MS = 5_000

/** Before 2.10 the server has no `sync_interval: always`: acknowledged writes may not be on disk. */
const SYNC_SINCE = [2, 10] as const

const olderThan = (version: string, [major, minor]: readonly [number, number]): boolean => {
  const [a = 0, b = 0] = version.split('.').map(Number)
  return a < major || (a === major && b < minor)
}

const watchStatus = async (nc: NatsConnection, log: Logger, set: (up: boolean) => void) => {
  for await (const status of nc.status()) {
    if (status.type === Events.Disconnect) {
      set(false)
      log.warn({ status: status.type }, 'bus disconnected')
    } else if (status.type === Events.Reconnect) {
      set(true)
      log.info({ status: status.type }, 'bus reconnected')
    } else if (status.type === Events.Error) {
      log.error({ status: status.type, reason: String(status.data) }, 'bus error')
    }
  }
}

/** Connects, and then reconnects for ever: a service outlives any outage of the bus. */
export const connectBus = async ({
  url,
  user,
  password,
  service,
  log,
}: BusOptions): Promise<Bus> => {
  const nc = await connect({
    servers: url.split(','),
    name: service,
    ...(user === undefined ? {} : { user, pass: password ?? '' }),
    // Replies of one service must not be readable by another: each has its own inbox space.
    inboxPrefix: `_INBOX_${service}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    waitOnFirstConnect: true,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    // A stack trace taken at each request costs more than the request; ours are told apart by name.
    noAsyncTraces: true,
  })
  let up = true
  void watchStatus(nc, log, (value) => {
    up = value
  })
  const version = nc.info?.version ?? '0.0.0'
  if (olderThan(version, SYNC_SINCE)) {
    log.warn({ version }, 'this nats-server acknowledges writes before they are on disk')
  }
  const js = nc.jetstream({ timeout: REQUEST_TIMEOUT_MS })
  return {
    nc,
    js,
    jsm: await nc.jetstreamManager({ checkAPI: false, timeout: REQUEST_TIMEOUT_MS }),
    service,
    log,
    server_version: version,
    max_payload: nc.info?.max_payload ?? 1_048_576,
    connected: () => up && !nc.isClosed(),
    close: async () => {
      if (nc.isClosed()) return
      await nc.drain().catch(() => nc.close())
    },
  }
}
