import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { readClaimAnswer } from './claims.ts'
import type { Outcome } from './history.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** What an agent can do with the queue. How it goes about its work is the worker's business. */

export interface AgentOptions {
  readonly actor: string
  readonly token: string
  /** Sends its lease token along, as it should; one that does not is alone on its agent. */
  readonly sends_token: boolean
}

/** A claim as the agent has it. */
export interface Held {
  readonly id: string
  readonly lease_token: string
  readonly attempt: number
  readonly max_attempts: number
  readonly ttl_seconds: number
  /** Makes the call once more that gave it. */
  readonly again: () => Promise<Outcome>
}

export interface Agent {
  take(): Promise<Held | undefined>
  beat(held: Held): Promise<Outcome>
  complete(held: Held): Promise<Outcome>
  end(held: Held, how: 'fail' | 'release'): Promise<Outcome>
}

type Input = Readonly<Record<string, unknown>>

const TRIES_MAX = 8
/** Errors after which the same call can still succeed. */
const WORTH_A_REPEAT = new Set(['unavailable', 'deadline_exceeded', 'unreachable', 'rate_limited'])

const worthARepeat = (outcome: Outcome): boolean =>
  outcome.kind === 'unknown' || (outcome.kind === 'error' && WORTH_A_REPEAT.has(outcome.code))

/** Asks again, with the same key, for as long as no answer settles it. */
const persist = async (random: Random, send: () => Promise<Outcome>): Promise<Outcome> => {
  let outcome = await send()
  for (let tried = 1; worthARepeat(outcome) && tried < TRIES_MAX; tried += 1) {
    await sleep(random.between(100, 700))
    outcome = await send()
  }
  return outcome
}

interface Request {
  readonly name: 'claim' | 'claim_next'
  readonly input: Input
  readonly ttl_seconds: number
  readonly careful: boolean
  readonly timeout_ms?: number
}

/** Whatever is next, or one of those made lately; sometimes without a key, or in a hurry. */
const requestOf = (world: World, random: Random, actor: string, key: string): Request => {
  const chaos = world.phase === 'chaos'
  const ttl_seconds = chaos ? random.int(2, 6) : 10
  const careful = !chaos || random.chance(0.8)
  const wanted = chaos && random.chance(0.2) ? world.recent : []
  const name = wanted.length > 0 ? 'claim' : 'claim_next'
  const input = {
    ...(name === 'claim' ? { id: random.pick(wanted) } : { queue: 'inbox' }),
    ...(name === 'claim_next' && random.chance(0.3) ? { wait_seconds: random.int(1, 3) } : {}),
    lease_ttl_seconds: ttl_seconds,
    claimant: actor,
    ...(careful ? { idempotency_key: key } : {}),
  }
  // One that hangs up early: often after the claim was made.
  const hurry = chaos && random.chance(0.08) ? { timeout_ms: random.int(5, 60) } : {}
  return { name, input, ttl_seconds, careful, ...hurry }
}

const Attempts = z.object({ attempt: z.int(), max_attempts: z.int() })

const attemptsIn = (name: string, value: unknown) =>
  Attempts.parse(name === 'claim' ? value : z.object({ todo: z.unknown() }).parse(value).todo)

export const createAgent = (
  world: World,
  random: Random,
  { actor, token, sends_token }: AgentOptions,
): Agent => {
  let keys = 0
  const newKey = (): string => {
    keys += 1
    return `${actor}-${keys}`
  }
  const call = (name: string, input: Input, more: { claim?: string; timeout_ms?: number } = {}) =>
    world.mcp.call(random.pick(world.system.mcp_urls), token, { actor, name, input, ...more })

  const actOn = ({ id, lease_token }: Held, name: string, more: Input): Promise<Outcome> => {
    const input = { id, ...(sends_token ? { lease_token } : {}), ...more }
    return call(name, input, { claim: lease_token })
  }

  const finish = (held: Held, name: string, more: Input): Promise<Outcome> => {
    const idempotency_key = newKey()
    return persist(random, () => actOn(held, name, { ...more, idempotency_key }))
  }

  return {
    take: async () => {
      const request = requestOf(world, random, actor, newKey())
      const { name, input, ttl_seconds, careful, timeout_ms } = request
      const send = (): Promise<Outcome> =>
        call(name, input, timeout_ms === undefined ? {} : { timeout_ms })
      const outcome = careful ? await persist(random, send) : await send()
      if (outcome.kind !== 'ok') return undefined
      const answer = readClaimAnswer(name, outcome.value)
      if (answer === undefined) return undefined
      const { id, lease_token } = answer
      const again = (): Promise<Outcome> => call(name, input)
      return { id, lease_token, ttl_seconds, again, ...attemptsIn(name, outcome.value) }
    },
    beat: (held) => actOn(held, 'heartbeat', { lease_ttl_seconds: held.ttl_seconds }),
    complete: (held) =>
      finish(held, 'complete', { result: { by: actor, under: held.lease_token } }),
    end: (held, how) => finish(held, how, { summary: 'not by me' }),
  }
}
