import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CallContext } from '../calls/call-context.ts'
import { addressOf, chargeAddress, checkLoaded, checkPerimeter } from '../http/admit.ts'
import type { HttpServices } from '../http/http-services.ts'
import { headerOf, traceparentOf } from '../http/request-headers.ts'
import { checkArguments } from '../tools/argument-problems.ts'
import { callOperation } from './call-operation.ts'
import { addLoginRoutes } from './login-routes.ts'
import { openApiText } from './openapi.ts'
import { admitOwner, type Owner } from './rest-caller.ts'
import { readInput } from './rest-input.ts'
import { type RestOperation, restOperations, routePath } from './rest-operations.ts'

/** REST for owners: one route for each operation of the contract that names one. */

declare module 'fastify' {
  interface FastifyRequest {
    owner: Owner | null
  }
}

const queryOf = ({ url }: FastifyRequest): URLSearchParams =>
  new URL(url, 'http://localhost').searchParams

const callContext = (owner: Owner, request: FastifyRequest, reply: FastifyReply): CallContext => ({
  principal: { kind: 'human', user_id: owner.user_id },
  request_id: request.id,
  traceparent: traceparentOf(request),
  gone: () => reply.raw.destroyed,
  live: owner.live,
})

const handle =
  (services: HttpServices, rest: RestOperation) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const owner = request.owner ?? (await admitOwner(services, request))
    const { params, body } = request
    const input = readInput(rest, { params, query: queryOf(request), body })
    checkArguments(rest.input_schema, rest.validate, input)
    const context = callContext(owner, request, reply)
    const key = headerOf(request.headers['idempotency-key'])
    const whole = { ...input, ...rest.fixed }
    const { output, undo } = await callOperation(services.tools, context, rest.op, whole, key)
    if (undo !== undefined) {
      if (reply.raw.destroyed) await undo()
      else reply.raw.once('close', () => reply.raw.writableFinished || void undo())
    }
    return rest.list === undefined ? output : listOf(rest.list, output, reply)
  }

/** For contracts that are a bare array: where the next page begins stands in a header. */
const NEXT_CURSOR = 'x-next-cursor'

const listOf = (name: string, output: unknown, reply: FastifyReply): unknown => {
  const fields = output as Readonly<Record<string, unknown>> // parsed by the caller
  if (typeof fields.next_cursor === 'string') void reply.header(NEXT_CURSOR, fields.next_cursor)
  return fields[name]
}

const addOperations = (app: FastifyInstance, services: HttpServices): void => {
  app.decorateRequest('owner', null)
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    checkPerimeter(services, request)
    checkLoaded(services)
    request.owner = await admitOwner(services, request)
  }
  for (const rest of restOperations) {
    app.route({
      method: rest.method,
      url: routePath(rest),
      onRequest,
      handler: handle(services, rest),
    })
  }
}

export const addRestRoutes = (app: FastifyInstance, services: HttpServices): void => {
  void app.register(async (api) => {
    await api.register(fastifyCookie)
    addOperations(api, services)
    addLoginRoutes(api, services)
    api.get('/api/openapi.json', async (request, reply) => {
      checkPerimeter(services, request)
      chargeAddress(services, addressOf(services, request))
      return reply.type('application/json').send(openApiText)
    })
  })
}
