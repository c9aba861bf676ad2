import { ServiceError, type UserId } from '@guildhall/contracts'
import type { FastifyRequest } from 'fastify'
import {
  addressOf,
  bearerOf,
  chargeAddress,
  chargeHuman,
  checkAddress,
  unauthenticated,
} from '../http/admit.ts'
import type { HttpServices } from '../http/http-services.ts'
import { sessionCookie } from '../sessions/session-cookie.ts'
import { matchesCsrf, type OpenSession } from '../sessions/sessions.ts'

/** The owner behind a request to /api: by API token, or by the session of a browser. */
export interface Owner {
  readonly user_id: UserId
  readonly session?: OpenSession
  /** Asked again during a long wait. */
  readonly live: () => boolean
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

const byToken = (services: HttpServices, token: string): Owner | undefined => {
  const caller = services.identity.identify(token)
  // An agent's credential is for /mcp. What an owner may do, no agent may do by another door.
  if (caller?.kind !== 'human') return undefined
  return { user_id: caller.user_id, live: caller.live }
}

const bySession = async (services: HttpServices, cookie: string): Promise<Owner | undefined> => {
  const session = await services.sessions.find(cookie)
  return session === undefined ? undefined : { user_id: session.user_id, session, live: () => true }
}

const checkCsrf = (request: FastifyRequest, session: OpenSession): void => {
  if (READS.has(request.method)) return
  const given = request.headers['x-csrf-token']
  if (typeof given === 'string' && matchesCsrf(session, given)) return
  throw new ServiceError('forbidden', 'the X-CSRF-Token header does not match the session', {
    what_to_do: 'Send the csrf_token of the login, or of GET /api/session, with each change.',
  })
}

export const admitOwner = async (
  services: HttpServices,
  request: FastifyRequest,
): Promise<Owner> => {
  const token = bearerOf(request)
  const cookie = sessionCookie(request, services.secure_cookies)
  const address = addressOf(services, request)
  if (token === undefined && cookie !== undefined) checkAddress(services, address)
  const owner =
    token !== undefined
      ? byToken(services, token)
      : cookie !== undefined
        ? await bySession(services, cookie)
        : undefined
  if (owner === undefined) {
    chargeAddress(services, address)
    throw unauthenticated()
  }
  if (owner.session !== undefined) checkCsrf(request, owner.session)
  chargeHuman(services, owner.user_id)
  return owner
}
