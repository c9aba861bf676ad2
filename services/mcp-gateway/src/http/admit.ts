import { ServiceError } from '@guildhall/contracts'
import { clientAddress, isWithin } from '@guildhall/runtime'
import type { FastifyRequest } from 'fastify'
import type { Identified } from '../identity/identity.ts'
import type { HttpServices } from './http-services.ts'
import { isHostAllowed, isOriginAllowed, repeatedHeader } from './origin-host.ts'

/** The checks that come before a body is read. Each throws the refusal. */

const BEARER = /^bearer +([^\s]+)$/i

const monotonic_ms = (): number => performance.now()

export const bearerOf = (request: FastifyRequest): string | undefined => {
  const { authorization } = request.headers
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
}

export const addressOf = ({ trusted_proxies }: HttpServices, request: FastifyRequest): string => {
  const forwarded = request.headers['x-forwarded-for']
  const hops = Array.isArray(forwarded) ? forwarded.join(',') : forwarded
  return clientAddress(request.raw.socket.remoteAddress, hops, trusted_proxies)
}

export const checkPerimeter = ({ perimeter }: HttpServices, request: FastifyRequest): void => {
  const repeated = repeatedHeader(request.raw.rawHeaders)
  if (repeated !== undefined) {
    throw new ServiceError('invalid_argument', `the header ${repeated} was sent twice`)
  }
  const { host, origin } = request.headers
  if (!isHostAllowed(perimeter, host)) {
    throw new ServiceError('forbidden', 'this Host is not served here', {
      what_to_do: 'Use the public URL, or add the name to ALLOWED_HOSTS.',
    })
  }
  if (!isOriginAllowed(perimeter, origin, host)) {
    throw new ServiceError('forbidden', 'this Origin may not call here', {
      what_to_do: 'Add the origin of the page to ALLOWED_ORIGINS.',
    })
  }
}

export const checkLoaded = ({ identity }: HttpServices): void => {
  if (!identity.ready()) throw new ServiceError('unavailable', 'the gateway is still starting')
}

const tooMany = (retry_after_seconds: number): ServiceError =>
  new ServiceError('rate_limited', 'too many requests', { retry_after_seconds })

/**
 * The limit per address weighs on whoever cannot prove who they are. A live credential has a limit
 * of its own and costs one hash to check; so a stranger behind the same address cannot lock it out.
 */
export const chargeAddress = (services: HttpServices, address: string): void => {
  const { limiter, address_limit } = services
  const wait_seconds = limiter.take(`address ${address}`, address_limit, monotonic_ms())
  if (wait_seconds > 0) throw tooMany(wait_seconds)
}

/** For proofs that cost a look-up: whoever has used up the address's failures gets none. */
export const checkAddress = (services: HttpServices, address: string): void => {
  const { limiter, address_limit } = services
  if (!limiter.has(`address ${address}`, address_limit, monotonic_ms())) throw tooMany(1)
}

/** Missing, unknown, revoked and expired read the same, to the byte but for the request id. */
export const unauthenticated = (): ServiceError =>
  new ServiceError('unauthenticated', 'a live credential is needed')

export type AgentCaller = Identified & { readonly kind: 'agent' }

/** Who calls /mcp: an agent by its endpoint's credential, or a person by an API token. */
export const admitCaller = (services: HttpServices, request: FastifyRequest): Identified => {
  const caller = services.identity.identify(bearerOf(request))
  if (caller === undefined) {
    chargeAddress(services, addressOf(services, request))
    throw unauthenticated()
  }
  if (caller.kind === 'human') return caller
  const { networks } = caller.view
  if (networks.length > 0 && !isWithin(networks, addressOf(services, request))) {
    throw new ServiceError('forbidden', 'this credential may not be used from this address')
  }
  return caller
}

export const chargeCaller = (services: HttpServices, caller: Identified, calls = 1): void => {
  if (caller.kind === 'human') chargeHuman(services, caller.user_id, calls)
  else chargeEndpoint(services, caller, calls)
}

const chargeEndpoint = ({ limiter }: HttpServices, { view }: AgentCaller, calls: number): void => {
  const { endpoint_id, rate_limit } = view.endpoint
  const tokens = Math.min(calls, rate_limit.burst)
  const wait_seconds = limiter.take(endpoint_id, rate_limit, monotonic_ms(), tokens)
  if (wait_seconds > 0) throw tooMany(wait_seconds)
}

const HUMAN_LIMIT = { per_second: 20, burst: 100 }

export const chargeHuman = ({ limiter }: HttpServices, user_id: number, calls = 1): void => {
  const tokens = Math.min(calls, HUMAN_LIMIT.burst)
  const wait_seconds = limiter.take(`human ${user_id}`, HUMAN_LIMIT, monotonic_ms(), tokens)
  if (wait_seconds > 0) throw tooMany(wait_seconds)
}
