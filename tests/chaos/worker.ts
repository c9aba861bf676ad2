import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { readClaimAnswer } from './claims.ts'
import type { Outcome } from './history.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/**
 * An agent that takes work, with all the ways in which agents go wrong: it stalls past its lease,
 * vanishes, gives work back, fails, hangs up early, and asks again when an answer did not come.
 */

export interface WorkerOptions {
  readonly actor: string
  readonly token: string
  /** Sends its lease token along, as it should; one that does not is alone on its agent. */
  readonly sends_token: boolean
}

interface Held {
  readonly id: string
  readonly lease_token: string
  readonly attempt: number
  readonly max_attempts: number
  readonly ttl_seconds: number
  /** The call that made it, for a repeat. */
  readonly again: () => Promise<Outcome>
}

const Attempts = z.object({ attempt: z.int(), max_attempts: z.int() })

const attemptsIn = (name: string, value: unknown) =>
  Attempts.parse(name === 'claim' ? value : z.object({ todo: z.unknown() }).parse(value).todo)

const TRIES_MAX = 8
/** Answers after which the same call can still succeed. */
const WORTH_A_REPEAT = new Set(['unavailable', 'deadline_exceeded', 'unreachable', 'rate_limited'])

const worthARepeat = (outcome: Outcome): boolean =>
  outcome.kind === 'unknown' || (outcome.kind === 'error' && WORTH_A_REPEAT.has(outcome.code))

const BEHAVIOURS = [
  ['prompt', 0.5],
  ['heartbeats', 0.14],
  ['stalls', 0.12],
  ['releases', 0.07],
  ['fails', 0.06],
  ['vanishes', 0.07],
  ['asks_again', 0.04],
] as const

type Behaviour = (typeof BEHAVIOURS)[number][0]

const behaviourOf = (random: Random): Behaviour => {
  let roll = random.next()
  for (const [behaviour, share] of BEHAVIOURS) {
    if (roll < share) return behaviour
    roll -= share
  }
  return 'prompt'
}

export const runWorker = async (
  world: World,
  random: Random,
  { actor, token, sends_token }: WorkerOptions,
): Promise<void> => {
  let calls = 0
  const newKey = (): string => {
    calls += 1
    return `${actor}-${calls}`
  }

  const call = (
    name: string,
    input: Readonly<Record<string, unknown>>,
    options: { claim?: string; timeout_ms?: number } = {},
  ): Promise<Outcome> =>
    world.mcp.call(random.pick(world.system.mcp_urls), token, { actor, name, input, ...options })

  /** Asks again, with the same key, for as long as no answer settles it. */
  const persist = async (send: () => Promise<Outcome>): Promise<Outcome> => {
    let outcome = await send()
    for (let tried = 1; worthARepeat(outcome) && tried < TRIES_MAX; tried += 1) {
      await sleep(random.between(100, 700))
      outcome = await send()
    }
    return outcome
  }

  const take = async (): Promise<Held | undefined> => {
    const draining = world.phase !== 'chaos'
    const ttl_seconds = draining ? 10 : random.int(2, 6)
    const careful = draining || random.chance(0.8)
    const wanted = !draining && random.chance(0.2) ? world.recent : []
    const name = wanted.length > 0 ? 'claim' : 'claim_next'
    const input = {
      ...(wanted.length > 0 ? { id: random.pick(wanted) } : { queue: 'inbox' }),
      ...(name === 'claim_next' && random.chance(0.3) ? { wait_seconds: random.int(1, 3) } : {}),
      lease_ttl_seconds: ttl_seconds,
      claimant: actor,
      ...(careful ? { idempotency_key: newKey() } : {}),
    }
    // One that hangs up early: often after the claim was made.
    const hurried = !draining && random.chance(0.08)
    const send = (): Promise<Outcome> =>
      call(name, input, hurried ? { timeout_ms: random.int(5, 60) } : {})
    const outcome = careful ? await persist(send) : await send()
    if (outcome.kind !== 'ok') return undefined
    const answer = readClaimAnswer(name, outcome.value)
    if (answer === undefined) return undefined
    const { id, lease_token } = answer
    const again = (): Promise<Outcome> => call(name, input)
    return { id, lease_token, ttl_seconds, ...attemptsIn(name, outcome.value), again }
  }

  const actOn = (held: Held, name: string, more: Readonly<Record<string, unknown>> = {}) => {
    const input = {
      id: held.id,
      ...(sends_token ? { lease_token: held.lease_token } : {}),
      ...more,
    }
    return call(name, input, { claim: held.lease_token })
  }

  const end = (held: Held, name: string, more: Readonly<Record<string, unknown>> = {}) => {
    const idempotency_key = newKey()
    return persist(() => actOn(held, name, { ...more, idempotency_key }))
  }

  const complete = (held: Held): Promise<Outcome> =>
    end(held, 'complete', { result: { by: actor, under: held.lease_token } })

  const beat = (held: Held): Promise<Outcome> =>
    actOn(held, 'heartbeat', { lease_ttl_seconds: held.ttl_seconds })

  /** The back-off after a later attempt, or late in the run, would outlast the run. */
  const mayFail = ({ attempt, max_attempts }: Held): boolean =>
    attempt >= max_attempts || (attempt === 1 && world.may_fail)

  const work = async (held: Held): Promise<void> => {
    const behaviour = world.phase === 'chaos' ? behaviourOf(random) : 'prompt'
    await sleep(random.between(5, 250))
    switch (behaviour) {
      case 'prompt':
        await complete(held)
        return
      case 'heartbeats':
        for (let beats = random.int(1, 3); beats > 0; beats -= 1) {
          await beat(held)
          await sleep(random.between(100, held.ttl_seconds * 500))
        }
        await complete(held)
        return
      case 'stalls':
        await sleep(held.ttl_seconds * 1_000 + random.between(0, 2_000))
        await (random.chance(0.3) ? beat(held) : complete(held))
        return
      case 'releases':
        await end(held, 'release', { summary: 'not for me' })
        return
      case 'fails':
        if (mayFail(held)) await end(held, 'fail')
        else await complete(held)
        return
      case 'asks_again':
        await beat(held)
        await held.again()
        await complete(held)
        return
      case 'vanishes':
        return
    }
  }

  while (world.phase !== 'over') {
    const held = await take()
    if (held === undefined) await sleep(random.between(30, 200))
    else await work(held)
  }
}
