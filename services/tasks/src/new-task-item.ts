import {
  ATTEMPTS_MAX_MAX,
  type GoalId,
  type TaskId,
  taskItemId,
  type UserId,
  type VerifierConfig,
  type WorkRecord,
} from '@guildhall/contracts'

interface NewTask {
  readonly task_id: TaskId
  readonly goal_id: GoalId
  readonly owner_id: UserId
  /** Names the queue of the goal, which only its doorbell and its endpoints know. */
  readonly slug: string
  readonly title: string
  readonly verifier: VerifierConfig
}

const goalQueue = (slug: string): string => `goal-${slug}`

/**
 * The claim record of a leaf task as it begins: approved, never claimed. How often it may be tried is
 * for its owner to say, so it is tried as often as anything may be.
 */
export const newTaskItem = (task: NewTask, approved_at: number): WorkRecord => ({
  v: 1,
  id: taskItemId(task.task_id),
  owner_id: task.owner_id,
  queue: goalQueue(task.slug),
  priority: 'normal',
  state: 'pending',
  title: task.title,
  kind: 'task',
  created_at: approved_at,
  updated_at: approved_at,
  claimable_at: approved_at,
  payload_size: 0,
  content_type: 'application/json',
  attempt: 0,
  max_attempts: ATTEMPTS_MAX_MAX,
  attempts_total: 0,
  prior_attempts: [],
  dead_letter: false,
  task: { task_id: task.task_id, goal_id: task.goal_id, verifier: task.verifier },
})
