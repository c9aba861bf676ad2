import { Buffer } from 'node:buffer'
import { setTimeout as delay } from 'node:timers/promises'
import {
  errorCodes,
  headers as headerNames,
  isErrorCode,
  type Operation,
  type OutputOf,
  type Principal,
  RPC_TIMEOUT_MS,
  ServiceError,
  subjects,
} from '@guildhall/contracts'
import { newRequestId } from '@guildhall/runtime'
import type { Msg } from 'nats'
import type { z } from 'zod'
import type { Bus } from './connect.ts'
import { busUnavailable, isNoResponders, isTimeout } from './errors.ts'
import { headerJson, toHeaders } from './publish.ts'

export interface CallOptions {
  /** Absent only for operations that make a principal out of nobody (login). */
  readonly principal?: Principal
  readonly request_id?: string
  readonly idempotency_key?: string | undefined
  readonly traceparent?: string | undefined
  readonly timeout_ms?: number
}

export interface Caller {
  call<Op extends Operation>(
    op: Op,
    input: z.input<Op['input']>,
    options: CallOptions,
  ): Promise<OutputOf<Op>>
}

/** Nobody was there to take the call, so a repeat is safe: bridges a restart of the service. */
const NO_RESPONDERS_WAITS_MS = [50, 150, 400]

/**
 * A service that dies with the call leaves it unanswered. A second try with the same idempotency
 * key finds what the first one did, so the caller need not know.
 */
const TRIES = 2

/** A reconnect takes a moment; a caller of a bus that is down should not wait for its timeout. */
const RECONNECT_WAIT_MS = 500
const RECONNECT_POLL_MS = 25

const connectedInTime = async (bus: Bus): Promise<boolean> => {
  const until = performance.now() + RECONNECT_WAIT_MS
  while (!bus.connected()) {
    if (performance.now() >= until) return false
    await delay(RECONNECT_POLL_MS)
  }
  return true
}

const principalTexts = new WeakMap<Principal, string>()

/** Whoever makes many calls is described by the same object each time. It is never changed. */
const principalText = (principal: Principal): string => {
  const known = principalTexts.get(principal)
  if (known !== undefined) return known
  const text = headerJson(principal)
  principalTexts.set(principal, text)
  return text
}

const readAnswer = <Op extends Operation>(op: Op, message: Msg): OutputOf<Op> => {
  const text = Buffer.from(message.data).toString('utf8')
  if (message.headers?.has(headerNames.error) === true) {
    const body = JSON.parse(text)
    if (isErrorCode(body?.code)) throw ServiceError.fromBody(body)
    throw new ServiceError('internal', 'the service answered with an unknown error')
  }
  const parsed = op.output.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data as OutputOf<Op> // what the schema of this operation says
  throw new ServiceError('internal', 'the service answered in an unexpected form', {
    cause: parsed.error,
  })
}

export const createCaller = (bus: Bus): Caller => {
  const send = async (
    subject: string,
    data: Uint8Array,
    fields: Record<string, string>,
    timeout_ms: number,
  ): Promise<Msg> => {
    for (const wait_ms of [...NO_RESPONDERS_WAITS_MS, undefined]) {
      try {
        return await bus.nc.request(subject, data, {
          timeout: timeout_ms,
          headers: toHeaders({
            [headerNames.deadline]: String(Date.now() + timeout_ms),
            ...fields,
          }),
        })
      } catch (error) {
        if (!isNoResponders(error) || wait_ms === undefined) throw error
        await delay(wait_ms)
      }
    }
    throw new Error('unreachable: the last try returns or throws')
  }

  return {
    call: async (op, input, options) => {
      const timeout_ms = options.timeout_ms ?? op.answer_ms ?? RPC_TIMEOUT_MS
      const data = Buffer.from(JSON.stringify(input))
      const fields: Record<string, string> = {
        [headerNames.request_id]: options.request_id ?? newRequestId(),
        ...(options.principal === undefined
          ? {}
          : { [headerNames.principal]: principalText(options.principal) }),
        ...(options.idempotency_key === undefined
          ? {}
          : { [headerNames.idempotency_key]: headerJson(options.idempotency_key) }),
        ...(options.traceparent === undefined
          ? {}
          : { [headerNames.traceparent]: options.traceparent }),
      }
      if (!(await connectedInTime(bus))) {
        throw new ServiceError('unavailable', 'the message bus cannot serve this right now')
      }
      for (let tried = 1; ; tried += 1) {
        try {
          const tryFields = tried === 1 ? fields : { ...fields, [headerNames.repeat]: '1' }
          return readAnswer(op, await send(subjects.rpc(op), data, tryFields, timeout_ms))
        } catch (error) {
          if (error instanceof ServiceError) throw error
          if (!isTimeout(error)) throw busUnavailable(error)
          const repeatable = op.access === 'read' || options.idempotency_key !== undefined
          if (tried >= TRIES || !repeatable || !bus.connected()) {
            throw new ServiceError(
              bus.connected() ? 'deadline_exceeded' : 'unavailable',
              `${op.name} was not answered within ${timeout_ms} ms`,
              { cause: error, what_to_do: errorCodes.deadline_exceeded.what_to_do },
            )
          }
        }
      }
    },
  }
}
