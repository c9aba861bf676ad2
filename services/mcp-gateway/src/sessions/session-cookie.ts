import type { FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_TTL_MS } from './sessions.ts'

/** `__Host-` binds the cookie to this host and to https; browsers refuse it over plain http. */
const cookieName = (secure: boolean): string => (secure ? '__Host-guildhall' : 'guildhall')

const attributes = (secure: boolean) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure }) as const

export const sessionCookie = (request: FastifyRequest, secure: boolean): string | undefined =>
  request.cookies[cookieName(secure)]

export const setSessionCookie = (reply: FastifyReply, secure: boolean, cookie: string): void => {
  void reply.setCookie(cookieName(secure), cookie, {
    ...attributes(secure),
    maxAge: SESSION_TTL_MS / 1_000,
  })
}

export const clearSessionCookie = (reply: FastifyReply, secure: boolean): void => {
  void reply.clearCookie(cookieName(secure), attributes(secure))
}
