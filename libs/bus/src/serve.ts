import { Buffer } from 'node:buffer'
import {
  type ErrorBody,
  headers as headerNames,
  type InputOf,
  mayCall,
  type Operation,
  type OutputOf,
  type Principal,
  RPC_TIMEOUT_MS,
  ServiceError,
  toServiceError,
} from '@guildhall/contracts'
import { type Clock, type Logger, newRequestId, type Part, systemClock } from '@guildhall/runtime'
import type { MsgHdrs, Service, ServiceMsg } from 'nats'
import type { z } from 'zod'
import { expiredCalls } from './call-metrics.ts'
import type { Bus } from './connect.ts'
import { toHeaders } from './publish.ts'
import { openPrincipalReader } from './read-principal.ts'

/** What a handler is told about the call, beside its input. */
export interface CallContext {
  readonly principal: Principal
  readonly request_id: string
  readonly idempotency_key: string | undefined
  /** The caller had no answer to an earlier try with the same key. */
  readonly repeat: boolean
  /** When the caller stops waiting, ms since the epoch. */
  readonly deadline_ms: number
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
    return handler({ principal, ...ctx }, parseInput(op, input))
  },
})

/** For the operations by which nobody becomes somebody. */
export const bindAnonymous = <Op extends Operation>(
  op: Op,
  handler: (ctx: AnonymousContext, input: InputOf<Op>) => Promise<OutputOf<Op>>,
): Binding => ({ op, run: (_principal, ctx, input) => handler(ctx, parseInput(op, input)) })

const PROBLEMS_SHOWN = 5

/** Throws `invalid_argument` naming each path and what is wrong there. */
const parseInput = <Op extends Operation>(op: Op, input: unknown): InputOf<Op> => {
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

const readDeadline = (values: MsgHdrs | undefined, now_ms: number): number => {
  const deadline = Number(readHeader(values, headerNames.deadline) ?? Number.NaN)
  return Number.isFinite(deadline) ? deadline : now_ms + RPC_TIMEOUT_MS
}

/** Later than this, the clocks of the two machines disagree: the call has not waited that long. */
const LATE_MAX_MS = 60_000

const isExpired = (deadline_ms: number, now_ms: number): boolean =>
  now_ms > deadline_ms && now_ms - deadline_ms < LATE_MAX_MS

const expired = (operation: string): ServiceError =>
  new ServiceError('deadline_exceeded', `${operation} came after its caller's deadline`)

interface ServeOptions {
  readonly log: Logger
  readonly version?: string
  /** The one by which callers set their deadlines: the machine's. */
  readonly clock?: Clock
}

/**
 * Answers the operations of one service over request/reply. Replicas share the calls through the
 * queue group. The NATS services API describes and counts the endpoints (`nats micro ls`, `stats`).
 */
export const serveOperations = (
  bus: Bus,
  bindings: readonly Binding[],
  { log, version = '0.1.0', clock = systemClock }: ServeOptions,
): Part => {
  let service: Service | undefined
  const in_flight = new Set<Promise<void>>()

  const readPrincipal = openPrincipalReader()

  const run = async (
    { run }: Binding,
    { headers, data }: ServiceMsg,
    request_id: string,
    deadline_ms: number,
  ): Promise<unknown> => {
    const key = readHeader(headers, headerNames.idempotency_key)
    const caller = readHeader(headers, headerNames.principal)
    const ctx: AnonymousContext = {
      request_id,
      idempotency_key: key === undefined ? undefined : readKey(key),
      repeat: readHeader(headers, headerNames.repeat) !== undefined,
      deadline_ms,
    }
    const principal = caller === undefined ? undefined : readPrincipal(caller)
    return await run(principal, ctx, readJson(data))
  }

  const answer = async (binding: Binding, message: ServiceMsg): Promise<void> => {
    const started = performance.now()
    const operation = binding.op.name
    const request_id = readHeader(message.headers, headerNames.request_id) ?? newRequestId()
    const deadline_ms = readDeadline(message.headers, clock.now())
    if (isExpired(deadline_ms, clock.now())) {
      // Counted and not logged: there are many of these when there is too much to do already.
      expiredCalls.inc({ operation })
      respondError(message, expired(operation).toBody(request_id))
      return
    }
    // Put together only for what is logged: most calls are not.
    const about = () => ({
      request_id,
      operation,
      duration_ms: performance.now() - started,
    })
    try {
      message.respond(JSON.stringify(await run(binding, message, request_id, deadline_ms)))
      if (log.isLevelEnabled('debug')) log.debug(about(), 'call answered')
    } catch (cause) {
      const error = toServiceError(cause)
      const { code } = error
      if (code === 'internal') log.error({ ...about(), err: cause }, 'call failed')
      // What the caller is told to try again later is the operator's business, with its cause.
      else if (error.retryable) log.warn({ ...about(), err: cause, code }, 'call not served')
      else log.info({ ...about(), code }, 'call refused')
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
