import { Buffer } from 'node:buffer'
import {
  type ErrorBody,
  headers as headerNames,
  type InputOf,
  mayCall,
  type Operation,
  type OutputOf,
  Principal,
  RPC_TIMEOUT_MS,
  ServiceError,
  toServiceError,
} from '@guildhall/contracts'
import { type Logger, newRequestId, type Part } from '@guildhall/runtime'
import type { MsgHdrs, Service, ServiceMsg } from 'nats'
import type { z } from 'zod'
import type { Bus } from './connect.ts'
import { toHeaders } from './publish.ts'

/** What a handler is told about the call, beside its input. */
export interface CallContext {
  readonly principal: Principal
  readonly request_id: string
  readonly idempotency_key: string | undefined
  /** The caller had no answer to an earlier try with the same key. */
  readonly repeat: boolean
  /** When the caller stops waiting, ms since the epoch. */
  readonly deadline_ms: number
  readonly log: Logger
}

export type AnonymousContext = Omit<CallContext, 'principal'>

export type Handler<Op extends Operation> = (
  ctx: CallContext,
  input: InputOf<Op>,
) => Promise<OutputOf<Op>>

interface Binding {
  readonly op: Operation
  run(principal: Principal | undefined, ctx: AnonymousContext, input: unknown): Promise<unknown>
}

/** Pairs an operation with its handler; the types of one follow from the other. */
export const bind = <Op extends Operation>(op: Op, handler: Handler<Op>): Binding => ({
  op,
  run: (principal, ctx, input) => {
    if (principal === undefined) throw new ServiceError('unauthenticated', 'no caller was named')
    if (!mayCall(principal, op)) {
      throw new ServiceError('forbidden', `this endpoint is not granted ${op.name}`)
    }
    return handler({ ...ctx, principal }, parseInput(op, input))
  },
})

/** For the operations by which nobody becomes somebody. */
export const bindAnonymous = <Op extends Operation>(
  op: Op,
  handler: (ctx: AnonymousContext, input: InputOf<Op>) => Promise<OutputOf<Op>>,
): Binding => ({ op, run: (_principal, ctx, input) => handler(ctx, parseInput(op, input)) })

const PROBLEMS_SHOWN = 5

/** Throws `invalid_argument` naming each path and what is wrong there. */
export const parseInput = <Op extends Operation>(op: Op, input: unknown): InputOf<Op> => {
  const parsed = op.input.safeParse(input)
  if (parsed.success) return parsed.data as InputOf<Op> // what the schema of this operation says
  const problems = (parsed.error as z.ZodError).issues // safeParse's own error type
    .slice(0, PROBLEMS_SHOWN)
    .map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`)
  throw new ServiceError('invalid_argument', problems.join('; '))
}

const readJson = (data: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(data).toString('utf8'))
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'the call is not JSON', { cause })
  }
}

const readHeader = (values: MsgHdrs | undefined, name: string): string | undefined => {
  const value = values?.get(name)
  return value === undefined || value === '' ? undefined : value
}

const readKey = (header: string): string => {
  try {
    return String(JSON.parse(header))
  } catch (cause) {
    throw new ServiceError('invalid_argument', 'the idempotency key is not JSON', { cause })
  }
}

const readPrincipal = (values: MsgHdrs | undefined): Principal | undefined => {
  const text = readHeader(values, headerNames.principal)
  if (text === undefined) return undefined
  const parsed = Principal.safeParse(JSON.parse(text))
  if (!parsed.success) {
    throw new ServiceError('internal', 'the caller is described in an unknown form', {
      cause: parsed.error,
    })
  }
  return parsed.data
}

interface ServeOptions {
  readonly log: Logger
  readonly version?: string
}

/**
 * Answers the operations of one service over request/reply. Replicas share the calls through the
 * queue group. The NATS services API describes and counts the endpoints (`nats micro ls`, `stats`).
 */
export const serveOperations = (
  bus: Bus,
  bindings: readonly Binding[],
  { log, version = '0.1.0' }: ServeOptions,
): Part => {
  let service: Service | undefined
  const in_flight = new Set<Promise<void>>()

  const answer = async (binding: Binding, message: ServiceMsg): Promise<void> => {
    const started = performance.now()
    const request_id = readHeader(message.headers, headerNames.request_id) ?? newRequestId()
    const call_log = log.child({ request_id, operation: binding.op.name })
    try {
      const key = readHeader(message.headers, headerNames.idempotency_key)
      const deadline = Number(readHeader(message.headers, headerNames.deadline))
      const ctx: AnonymousContext = {
        request_id,
        idempotency_key: key === undefined ? undefined : readKey(key),
        repeat: readHeader(message.headers, headerNames.repeat) !== undefined,
        deadline_ms: Number.isFinite(deadline) ? deadline : Date.now() + RPC_TIMEOUT_MS,
        log: call_log,
      }
      const principal = readPrincipal(message.headers)
      const output = await binding.run(principal, ctx, readJson(message.data))
      message.respond(JSON.stringify(output))
      call_log.debug({ duration_ms: performance.now() - started }, 'call answered')
    } catch (cause) {
      const error = toServiceError(cause)
      const duration_ms = performance.now() - started
      const { code } = error
      if (code === 'internal') call_log.error({ err: cause, duration_ms }, 'call failed')
      // What the caller is told to try again later is the operator's business, with its cause.
      else if (error.retryable) call_log.warn({ err: cause, code, duration_ms }, 'call not served')
      else call_log.info({ code, duration_ms }, 'call refused')
      respondError(message, error.toBody(request_id))
    }
  }

  return {
    name: 'operations',
    start: async () => {
      service = await bus.nc.services.add({
        name: bus.service,
        version,
        description: `Operations of ${bus.service}`,
        queue: bus.service,
      })
      const group = service.addGroup(`rpc.${bus.service}`, bus.service)
      for (const binding of bindings) {
        group.addEndpoint(binding.op.name, (err, message) => {
          if (err !== null) return
          const work = answer(binding, message).finally(() => in_flight.delete(work))
          in_flight.add(work)
        })
      }
      await bus.nc.flush()
    },
    stop: async () => {
      await service?.stop()
      await Promise.allSettled(in_flight)
    },
  }
}

const respondError = (message: ServiceMsg, body: ErrorBody): void => {
  const data = JSON.stringify(body)
  message.respond(data, {
    headers: toHeaders({
      [headerNames.error]: body.code,
      // What the services API counts as a failure.
      'Nats-Service-Error': body.code,
      'Nats-Service-Error-Code': '500',
    }),
  })
}
