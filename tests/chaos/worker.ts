import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, type AgentOptions, createAgent, type Held } from './agent.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** Takes work until all is over, and goes wrong in all the ways in which agents do. */

type Behaviour = (world: World, random: Random, agent: Agent, held: Held) => Promise<unknown>

const prompt: Behaviour = (_world, _random, agent, held) => agent.complete(held)

const withHeartbeats: Behaviour = async (_world, random, agent, held) => {
  for (let beats = random.int(1, 3); beats > 0; beats -= 1) {
    await agent.beat(held)
    await sleep(random.between(100, held.ttl_seconds * 500))
  }
  await agent.complete(held)
}

/** Comes back when its lease is over, and somebody else may have the todo. */
const tooLate: Behaviour = async (_world, random, agent, held) => {
  await sleep(held.ttl_seconds * 1_000 + random.between(0, 2_000))
  await (random.chance(0.3) ? agent.beat(held) : agent.complete(held))
}

const givesBack: Behaviour = (_world, _random, agent, held) => agent.end(held, 'release')

/** The back-off after a later attempt, or late in the run, would outlast the run. */
const fails: Behaviour = (world, _random, agent, held) => {
  const { attempt, max_attempts } = held
  const may_fail = attempt >= max_attempts || (attempt === 1 && world.may_fail)
  return may_fail ? agent.end(held, 'fail') : agent.complete(held)
}

/** Its first answer got lost on its way inside, so it asks for its claim again. */
const asksAgain: Behaviour = async (_world, _random, agent, held) => {
  await agent.beat(held)
  await held.again()
  await agent.complete(held)
}

const vanishes: Behaviour = async () => undefined

/** Shares of all; the rest is prompt. */
const BEHAVIOURS: readonly (readonly [Behaviour, number])[] = [
  [withHeartbeats, 0.14],
  [tooLate, 0.12],
  [givesBack, 0.07],
  [fails, 0.06],
  [vanishes, 0.07],
  [asksAgain, 0.04],
]

const behaviourOf = (random: Random): Behaviour => {
  let roll = random.next()
  for (const [behaviour, share] of BEHAVIOURS) {
    if (roll < share) return behaviour
    roll -= share
  }
  return prompt
}

export const runWorker = async (
  world: World,
  random: Random,
  options: AgentOptions,
): Promise<void> => {
  const agent = createAgent(world, random, options)
  while (world.phase !== 'over') {
    const held = await agent.take()
    if (held === undefined) {
      await sleep(random.between(30, 200))
      continue
    }
    await sleep(random.between(5, 250))
    const behave = world.phase === 'chaos' ? behaviourOf(random) : prompt
    await behave(world, random, agent, held)
  }
}
