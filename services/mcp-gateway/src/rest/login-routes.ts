import { claimCredential, LoginInput, login, ServiceError, type User } from '@guildhall/contracts'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { addressOf, chargeAddress, checkLoaded, checkPerimeter } from '../http/admit.ts'
import { asServiceError } from '../http/as-service-error.ts'
import type { HttpServices } from '../http/http-services.ts'
import { BadJson, parseJsonBody } from '../http/json-body.ts'
import { clearSessionCookie, sessionCookie, setSessionCookie } from '../sessions/session-cookie.ts'
import { loggedInPage, loginFailedPage, loginPage } from './login-page.ts'
import { admitOwner } from './rest-caller.ts'

const LOGIN_TOKEN_MAX_CHARS = 200
const FORM_MAX_BYTES = 4_096

/** For the pages: a form may go to us, and the browser must send the origin with it. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // With no-referrer a browser sends "Origin: null" with the form, which no check could accept.
  // To other origins this sends nothing, so the link's token does not leave with a Referer.
  'referrer-policy': 'same-origin',
} as const

type Proof = z.infer<typeof LoginInput>

const readProof = (value: unknown): Proof => {
  const parsed = LoginInput.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ServiceError('invalid_argument', 'give login_token, or username and password')
}

const readJson = (body: unknown): unknown => {
  try {
    return parseJsonBody(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof BadJson)) throw error
    throw new ServiceError('invalid_argument', error.message)
  }
}

/** Ends the session that the browser had: what an attacker knew of before is worth nothing after. */
const logIn = async (
  services: HttpServices,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<{ user: User; csrf_token: string }> => {
  const { caller, sessions, secure_cookies } = services
  const user = await caller.call(
    login,
    { proof, client_address: addressOf(services, request) },
    { request_id: request.id, idempotency_key: `login-${request.id}` },
  )
  const former = sessionCookie(request, secure_cookies)
  const { cookie, csrf_token } = await sessions.open(user.user_id)
  if (former !== undefined) await sessions.close(former)
  setSessionCookie(reply, secure_cookies, cookie)
  return { user, csrf_token }
}

const addPages = (app: FastifyInstance, services: HttpServices): void => {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_MAX_BYTES },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  )
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8')
    checkPerimeter(services, request)
    checkLoaded(services)
    chargeAddress(services, addressOf(services, request))
  })
  app.setErrorHandler<FastifyError | ServiceError>((cause, request, reply) => {
    const error = asServiceError(cause, FORM_MAX_BYTES)
    if (error.code === 'internal') {
      services.log.error({ err: cause, request_id: request.id }, 'login failed')
    }
    const text =
      error.code === 'unauthenticated' ? 'This link has expired or was used.' : error.message
    return reply.code(error.status).send(loginFailedPage(text))
  })
  app.get('/login', async (request, reply) => {
    const token = new URL(request.url, 'http://localhost').searchParams.get('token') ?? ''
    if (token === '' || token.length > LOGIN_TOKEN_MAX_CHARS) {
      throw new ServiceError('invalid_argument', 'This is not a login link.')
    }
    return reply.send(loginPage(token))
  })
  app.post('/login', async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const proof = readProof({ login_token: form.get('login_token') })
    const { user } = await logIn(services, request, reply, proof)
    return reply.send(loggedInPage(user.username))
  })
}

const addApi = (app: FastifyInstance, services: HttpServices): void => {
  const guard = async (request: FastifyRequest): Promise<void> => {
    checkPerimeter(services, request)
    checkLoaded(services)
  }
  app.post('/api/login', { onRequest: guard }, async (request, reply) => {
    chargeAddress(services, addressOf(services, request))
    return logIn(services, request, reply, readProof(readJson(request.body)))
  })
  // For whoever was given the one-time token of a new agent's credential: it proves enough.
  app.post('/api/credentials/claim', { onRequest: guard }, async (request, reply) => {
    chargeAddress(services, addressOf(services, request))
    const parsed = claimCredential.input
      .omit({ client_address: true })
      .safeParse(readJson(request.body))
    if (!parsed.success) throw new ServiceError('invalid_argument', 'give claim_token')
    void reply.header('cache-control', 'no-store')
    const client_address = addressOf(services, request)
    return services.caller.call(
      claimCredential,
      { ...parsed.data, client_address },
      {
        request_id: request.id,
        idempotency_key: `credential-${request.id}`,
      },
    )
  })
  app.post('/api/logout', { onRequest: guard }, async (request, reply) => {
    const { session } = await admitOwner(services, request)
    const cookie = sessionCookie(request, services.secure_cookies)
    if (session !== undefined && cookie !== undefined) await services.sessions.close(cookie)
    clearSessionCookie(reply, services.secure_cookies)
    return { logged_out: true }
  })
  app.get('/api/session', { onRequest: guard }, async (request) => {
    const { user_id, session } = await admitOwner(services, request)
    if (session === undefined) throw new ServiceError('not_found', 'this request has no session')
    const expires_at = new Date(session.expires_at_ms).toISOString()
    return { user_id, csrf_token: session.csrf_token, expires_at }
  })
}

export const addLoginRoutes = (app: FastifyInstance, services: HttpServices): void => {
  // A plugin of its own: forms are read by these pages and by nothing else.
  void app.register(async (pages) => addPages(pages, services))
  addApi(app, services)
}
