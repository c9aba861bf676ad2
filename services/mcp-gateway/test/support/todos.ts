import { randomUUID } from 'node:crypto'
import { type ClaimedTodo, type Ring, TodoId, type TodoRow } from '@guildhall/contracts'

export const newTodoId = (): TodoId => TodoId.parse(`td_${randomUUID()}`)

export const todoRow = (fields: Partial<TodoRow> = {}): TodoRow => ({
  id: newTodoId(),
  queue: 'inbox',
  title: 'Look at the build',
  state: 'pending',
  attempt: 0,
  max_attempts: 5,
  next_retry_at: null,
  dead_letter: false,
  created_at: '2030-01-01T00:00:00.000Z',
  payload_size: 2,
  priority: 'normal',
  ...fields,
})

export const claimedTodo = (fields: Partial<ClaimedTodo> = {}): ClaimedTodo => ({
  ...todoRow({ state: 'claimed', attempt: 1, owner: 'agent:7' }),
  payload: { action: 'opened' },
  lease_token: 'lease-token',
  fence: 11,
  attempt_seq: 1,
  attempts_total: 1,
  prior_attempts: [],
  ...fields,
})

export const ringFor = (row: TodoRow): Ring => ({
  v: 1,
  todo_id: row.id,
  queue: row.queue,
  title: row.title,
  ...(row.kind === undefined ? {} : { kind: row.kind }),
  ...(row.source === undefined ? {} : { source: row.source }),
})
