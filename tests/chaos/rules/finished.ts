import { isDeepStrictEqual } from 'node:util'
import { type Call, isOk, mayHaveHappened } from '../calls.ts'
import type { Claim } from '../claims.ts'
import type { FinalState, FinalTodo } from '../final-state.ts'
import type { Violation } from '../violation.ts'

/** Done once and for good; nothing accepted stays undone; nothing answered is forgotten. */

const isComplete = (call: Call): boolean => call.name === 'complete'

/** From the answers alone, whatever the final state. */
export const checkDone = (claims: readonly Claim[]): Violation[] => {
  const done = claims.flatMap((claim) => {
    const call = claim.acts.find((act) => isComplete(act) && isOk(act))
    return call === undefined ? [] : [{ claim, call }]
  })
  const [first, ...others] = done.sort((a, b) => a.call.answered_at - b.call.answered_at)
  if (first === undefined) return []
  const { todo_id } = first.claim
  const twice = others.map(({ claim, call }): Violation => {
    const message = `completed under claim ${first.claim.attempt_seq} and under claim ${claim.attempt_seq}`
    return { rule: 'done-twice', todo_id, message, calls: [first.call.n, call.n] }
  })
  const after = claims.filter(
    (claim) =>
      claim.invoked_at > first.call.answered_at || claim.attempt_seq > first.claim.attempt_seq,
  )
  return [
    ...twice,
    ...after.map((claim): Violation => {
      const message = `claim ${claim.attempt_seq} of ${claim.actor} was made although it was done under claim ${first.claim.attempt_seq}`
      return { rule: 'claimed-when-done', todo_id, message, calls: [first.call.n] }
    }),
  ]
}

const isFinished = (todo: FinalTodo): boolean =>
  todo.state === 'done' ||
  (todo.state === 'failed' && todo.dead_letter && todo.attempt >= todo.max_attempts)

const checkPromises = (todo: FinalTodo, claims: readonly Claim[]): Violation[] => {
  const { id: todo_id } = todo
  const found: Violation[] = []
  const numbers = claims.map((claim) => claim.attempt_seq)
  const newest = Math.max(0, ...numbers)
  if (newest > todo.attempts_total) {
    const message = `claim ${newest} was answered; only ${todo.attempts_total} are counted`
    found.push({ rule: 'answer-lost', todo_id, message })
  }
  const completions = claims.flatMap((claim) => claim.acts).filter(isComplete)
  const answered = completions.filter(isOk)
  const calls = answered.map((call) => call.n)
  if (answered.length > 0 && todo.state !== 'done') {
    const message = `completed, and now ${todo.state}`
    found.push({ rule: 'answer-lost', todo_id, message, calls })
  }
  const results = answered.map((call) => call.input.result ?? null)
  if (todo.state === 'done' && results.length > 0) {
    if (!results.some((result) => isDeepStrictEqual(result, todo.result ?? null))) {
      const message = `completed with ${JSON.stringify(results)}, kept is ${JSON.stringify(todo.result)}`
      found.push({ rule: 'answer-lost', todo_id, message, calls })
    }
  }
  if (todo.state === 'done' && !completions.some(mayHaveHappened)) {
    found.push({ rule: 'done-by-nobody', todo_id, message: 'no call can have completed it' })
  }
  return found
}

/** Every claim ever made is in the history of the todo, once. */
const checkAttempts = (todo: FinalTodo): Violation[] => {
  const { attempts, attempts_total, attempts_pruned } = todo
  const expected = Array.from(
    { length: attempts_total - attempts_pruned },
    (_, i) => attempts_total - i,
  )
  const shown = attempts.map((attempt) => attempt.seq)
  if (isDeepStrictEqual(shown, expected.slice(0, shown.length)) && shown.length > 0) return []
  if (attempts_total === 0 && shown.length === 0) return []
  const message = `of ${attempts_total} attempts the history shows ${shown.join(', ') || 'none'}`
  return [{ rule: 'history-incomplete', todo_id: todo.id, message }]
}

export const checkFinished = (
  by_todo: ReadonlyMap<string, readonly Claim[]>,
  final: FinalState,
): Violation[] => {
  const found: Violation[] = final.missing.map((what) => ({
    rule: 'audit-incomplete',
    message: `could not be read: ${what}`,
  }))
  for (const todo of final.todos.values()) {
    const { id: todo_id, state, attempt, max_attempts } = todo
    if (!isFinished(todo)) {
      const message = `${todo.title} is ${state} after ${attempt} of ${max_attempts} attempts`
      found.push({ rule: 'not-finished', todo_id, message })
    }
    const row = final.listed.get(todo_id)
    if (row !== undefined && (row.state !== state || row.attempt !== attempt)) {
      const message = `listed as ${row.state}, attempt ${row.attempt}; it is ${state}, attempt ${attempt}`
      found.push({ rule: 'list-differs', todo_id, message })
    }
    found.push(...checkPromises(todo, by_todo.get(todo_id) ?? []), ...checkAttempts(todo))
  }
  return found
}
