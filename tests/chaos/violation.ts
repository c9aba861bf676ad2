/** What the history proves to have gone wrong. */

export const rules = {
  'two-holders': 'two claims of one todo were both held, unexpired, at one moment',
  'holder-refused': 'a holder whose lease had not ended was told that it does not hold',
  'stale-holder': 'a call under a claim took effect after another had taken the todo',
  'fence-order': 'a later claim has no greater fence, or a fence was given twice',
  'fence-changed': 'the same claim was answered with two fences',
  'attempt-number': 'the numbers of the claims of a todo do not grow by one',
  'claimed-again': 'a repeat of a claim, under its key, was given another todo',
  'delivery-twice': 'one signed body was accepted as new twice, or under two ids',
  'todo-twice': 'two todos came of one accepted item',
  'todo-from-nothing': 'a todo exists that nobody can have created',
  'todo-lost': 'an accepted item has no todo, or another than was answered',
  'wrong-payload': 'a claim was given the payload of another item',
  'not-finished': 'an accepted item is neither done nor out of attempts',
  'answer-lost': 'the final state does not hold what an answer had promised',
  'list-differs': 'the list of todos shows another state than the todo itself',
  'history-incomplete': 'the history of deliveries or attempts does not match what happened',
  'claimed-when-done': 'a todo was claimed after it was done',
  'done-twice': 'a todo was completed under two claims',
  'done-by-nobody': 'a todo is done that nobody can have completed',
  'audit-incomplete': 'the final state was not read whole, so nothing can be said about it',
} as const

export type Rule = keyof typeof rules

export interface Violation {
  readonly rule: Rule
  readonly todo_id?: string
  readonly message: string
  /** Calls of the history, by number. */
  readonly calls?: readonly number[]
}
