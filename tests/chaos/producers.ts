import { createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from './history.ts'
import { toOutcome } from './http.ts'
import type { Random } from './random.ts'
import { idIn, remember, type World } from './world.ts'

/**
 * Those who bring work, and behave as such senders do: a provider repeats a delivery until it has
 * its 202, delivers some twice, some at two doors at once, and now and then gives up.
 */

const TRIES_MAX = 60
const DELIVERY_TIMEOUT_MS = 10_000
const GIVES_UP = 0.08
const SENDS_AGAIN = 0.25
const SENDS_TWICE_AT_ONCE = 0.12

type Send = () => Promise<Outcome>

const untilAccepted = async (send: Send, random: Random): Promise<Outcome> => {
  let outcome = await send()
  for (let tried = 1; outcome.kind !== 'ok' && tried < TRIES_MAX; tried += 1) {
    await sleep(random.between(150, 900))
    outcome = await send()
  }
  return outcome
}

const produce = async (world: World, random: Random, send: Send): Promise<void> => {
  if (random.chance(GIVES_UP)) {
    await send()
    return
  }
  const both = random.chance(SENDS_TWICE_AT_ONCE) ? [send()] : []
  const [outcome] = await Promise.all([untilAccepted(send, random), ...both])
  const id = outcome.kind === 'ok' ? idIn(outcome.value) : undefined
  if (id !== undefined) remember(world, id)
  if (!random.chance(SENDS_AGAIN)) return
  await sleep(random.between(0, 5_000))
  await send()
}

const sign = (secret: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** The body alone makes a delivery what it is: its id is not signed, so each try has another. */
const deliver = (world: World, random: Random, actor: string, item: string): Promise<void> => {
  const body = JSON.stringify({
    action: 'opened',
    issue: { number: Number(item.split('-')[1]), title: `a delivery [${item}]` },
    repository: { full_name: 'octo/chaos' },
  })
  const { path, secret } = world.webhook
  return produce(world, random, () => {
    const delivery = randomUUID()
    const url = new URL(path, random.pick(world.system.ingest_urls))
    const call = { actor, name: 'webhook', to: url.host, item, input: { delivery, body } }
    return world.history.record(call, async () => {
      const headers = {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': delivery,
        'x-hub-signature-256': sign(secret, body),
      }
      const timeout_ms = DELIVERY_TIMEOUT_MS
      const sent = await world.http.send({
        url: url.href,
        method: 'POST',
        headers,
        body,
        timeout_ms,
      })
      return toOutcome(sent, 202)
    })
  })
}

const attemptsOf = (random: Random): { max_attempts?: number } => {
  const roll = random.next()
  if (roll < 0.1) return { max_attempts: 1 }
  return roll < 0.2 ? { max_attempts: 2 } : {}
}

/** Hands work over by create_todo; the key makes all tries one. */
const handOver = (
  world: World,
  random: Random,
  { actor, token }: Handing,
  item: string,
): Promise<void> => {
  const input = {
    queue: 'inbox',
    title: `a hand-over [${item}]`,
    payload: { item: `[${item}]` },
    priority: random.pick(['high', 'normal', 'normal', 'low']),
    idempotency_key: `create-${item}`,
    ...attemptsOf(random),
    ...(random.chance(0.05)
      ? { not_before: new Date(Date.now() + random.between(500, 3_000)).toISOString() }
      : {}),
  }
  return produce(world, random, () =>
    world.mcp.call(random.pick(world.system.mcp_urls), token, {
      actor,
      name: 'create_todo',
      input,
      item,
    }),
  )
}

interface Handing {
  readonly actor: string
  readonly token: string
}

/** Items under way at most; a provider too has only so many workers. */
const UNDER_WAY_MAX = 24

/** Begins a new item every so often while the chaos lasts; returns when each has come to its end. */
const produceSteadily = async (
  world: World,
  random: Random,
  per_second: number,
  begin: (random: Random) => Promise<void>,
): Promise<void> => {
  const under_way = new Set<Promise<void>>()
  while (world.phase === 'chaos') {
    await sleep(random.between(0.2, 1.8) * (1_000 / per_second))
    if (under_way.size >= UNDER_WAY_MAX) continue
    const item = begin(random.fork(`item-${random.next()}`)).finally(() => under_way.delete(item))
    under_way.add(item)
  }
  await Promise.all(under_way)
}

/** Names are counted over all producers of a kind, since a name is an item. */
export const counter = (prefix: string): (() => string) => {
  let made = 0
  return () => {
    made += 1
    return `${prefix}-${made}`
  }
}

export const webhookProducer = (
  world: World,
  random: Random,
  { actor, per_second, name }: { actor: string; per_second: number; name: () => string },
): Promise<void> =>
  produceSteadily(world, random, per_second, (own) => deliver(world, own, actor, name()))

export const todoProducer = (
  world: World,
  random: Random,
  { per_second, name, ...handing }: Handing & { per_second: number; name: () => string },
): Promise<void> =>
  produceSteadily(world, random, per_second, (own) => handOver(world, own, handing, name()))
