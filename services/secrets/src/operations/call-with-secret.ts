import type { Handler } from '@guildhall/bus'
import { type callWithSecret, ServiceError } from '@guildhall/contracts'
import { RateLimiter } from '@guildhall/runtime'
import { checkStanding, type Reach, reachOf } from '../access.ts'
import { callOnce, type Outcome } from '../brokered/once.ts'
import { sendCall } from '../brokered/send.ts'
import { readTemplate } from '../brokered/template.ts'
import type { Deps } from '../deps.ts'
import { CALL_RATE, CALLS_AT_ONCE_MAX } from '../limits.ts'
import { callCounter } from '../metrics.ts'
import { secretName } from '../secret-text.ts'

const checkRate = (limiter: RateLimiter, { user_id, agent_id }: Reach): void => {
  const caller = agent_id === null ? `human:${user_id}` : `agent:${user_id}:${agent_id}`
  const wait_seconds = limiter.take(caller, CALL_RATE, performance.now())
  if (wait_seconds === 0) return
  throw new ServiceError('rate_limited', 'too many calls with secrets', {
    retry_after_seconds: wait_seconds,
  })
}

export const callWithSecretHandler = (deps: Deps): Handler<typeof callWithSecret> => {
  const limiter = new RateLimiter()
  let running = 0

  return async ({ principal, idempotency_key }, input) => {
    const name = secretName(input.secret)
    const template = readTemplate(input, name, deps.calls.extra_ports)
    const reach = await reachOf(deps, principal, input.task_id)
    await checkStanding(deps, reach)
    checkRate(limiter, reach)
    if (running >= CALLS_AT_ONCE_MAX) {
      throw new ServiceError('unavailable', 'too many calls with secrets are being made')
    }
    const outcome: Outcome = { sent: false }
    const { method } = input
    const send = () =>
      sendCall(deps, template, {
        reach,
        name,
        signal: AbortSignal.timeout(deps.calls.timeout_ms),
        onSent: () => {
          outcome.sent = true
        },
        beforeFirst: (host) =>
          deps.requireApproval({ principal, secret: name, method, host, task_id: reach.task_id }),
      })
    running += 1
    try {
      const key = idempotency_key ?? input.idempotency_key
      const answer = await callOnce(deps, principal, key, input, outcome, send)
      callCounter.inc({ outcome: 'answered' })
      return answer
    } catch (error) {
      callCounter.inc({ outcome: outcome.sent ? 'broken_off' : 'refused' })
      throw error
    } finally {
      running -= 1
    }
  }
}
