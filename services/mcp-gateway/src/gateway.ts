import type { AddressInfo } from 'node:net'
import { type Bus, createCaller } from '@guildhall/bus'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { parseNetworks, RateLimiter } from '@guildhall/runtime'
import type { FastifyInstance } from 'fastify'
import type { GatewayConfig } from './config.ts'
import { Doorbell } from './doorbell/doorbell.ts'
import { createApp } from './http/app.ts'
import { closeApp } from './http/close-app.ts'
import type { HttpServices } from './http/http-services.ts'
import { createPerimeter } from './http/origin-host.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createSessions } from './sessions/sessions.ts'

/** The whole gateway on one listener. It keeps nothing: any replica serves any request. */

export interface Gateway extends Part {
  /** Where it listens, once started. */
  readonly url: string
  readonly doorbell: Doorbell
  ready(): Record<string, boolean>
}

interface GatewayOptions {
  readonly config: Readonly<GatewayConfig>
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
}

interface Wiring {
  readonly identity: Identity
  readonly services: HttpServices
  readonly app: FastifyInstance
}

const wire = ({ config, bus, clock, log }: GatewayOptions, draining: () => boolean): Wiring => {
  const caller = createCaller(bus)
  const identity = createIdentity({ bus, clock, log })
  const services: HttpServices = {
    perimeter: createPerimeter({
      public_url: config.PUBLIC_MCP_URL,
      hosts: config.ALLOWED_HOSTS,
      origins: config.ALLOWED_ORIGINS,
    }),
    trusted_proxies: parseNetworks(config.TRUSTED_PROXIES),
    address_limit: {
      per_second: config.ADDRESS_RATE_PER_SECOND,
      burst: config.ADDRESS_RATE_BURST,
    },
    limiter: new RateLimiter(),
    secure_cookies: config.PUBLIC_MCP_URL.startsWith('https:'),
    tools: { caller, identity, log, draining },
    identity,
    doorbell: new Doorbell({ bus, caller, identity, clock, log }),
    sessions: createSessions(bus, clock),
    caller,
    log,
    ready: () => ({
      bus: bus.connected(),
      identity: identity.ready(),
      accepting: app.server.listening && !draining(),
    }),
  }
  const app = createApp(services)
  return { identity, services, app }
}

export const createGateway = (options: GatewayOptions): Gateway => {
  const { config, log } = options
  let draining = false
  const { identity, services, app } = wire(options, () => draining)
  const { doorbell } = services
  return {
    name: 'gateway',
    doorbell,
    ready: services.ready,
    get url() {
      const { address, port } = app.server.address() as AddressInfo // it listens on a TCP port
      return `http://${address}:${port}`
    },
    start: async () => {
      // Not awaited: until the mirror is whole, /health answers and everything else says 503.
      identity.start().catch((err: unknown) => log.fatal({ err }, 'identities cannot be loaded'))
      await doorbell.start()
      await app.listen({ host: config.HTTP_HOST, port: config.HTTP_PORT })
      log.info({ host: config.HTTP_HOST, port: config.HTTP_PORT }, 'gateway listens')
    },
    stop: async () => {
      if (draining) return
      draining = true
      await new Promise((resolve) => setTimeout(resolve, config.DRAIN_DELAY_MS))
      // Streams first: their clients attach to another replica while the last calls finish here.
      await doorbell.stop()
      await closeApp(app)
      await identity.stop()
    },
  }
}
