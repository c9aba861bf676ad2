import { claim, complete, createTodo, listTodos } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import type { Test } from 'tap'
import type { Agent } from './agent.ts'
import { attach, type EventStream } from './event-stream.ts'

/** A queue that the agent must be granted beside those that a test is about. */
export const SETTLING = 'settling'

/**
 * A stream whose attach is over and done. At an attach the gateway looks for todos that wait, and
 * one that comes in that moment is rung twice rather than never. So the attach gets a todo of its own
 * to ring for; once that is heard, every further ring has its cause in what the test does.
 */
export const settledStream = async (t: Test, url: string, agent: Agent): Promise<EventStream> => {
  const { id } = await agent.call(createTodo, { queue: SETTLING, title: 'rings at the attach' })
  const waits = async (): Promise<boolean> =>
    (await agent.call(listTodos, { queue: SETTLING, state: 'pending' })).todos.length > 0
  await waitFor(waits, { what: 'the list to show the todo' })
  const stream = await attach(url, agent.token)
  t.teardown(() => stream.close())
  await stream.untilRung(id)
  await agent.call(claim, { id })
  await agent.call(complete, { id })
  await waitFor(async () => !(await waits()), { what: 'the todo to leave the list' })
  return stream
}
