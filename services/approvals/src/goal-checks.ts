import {
  type GoalRecord,
  namedError,
  type ServiceError,
  type TaskRecord,
} from '@guildhall/contracts'
import type { SharedRecords } from './shared-records.ts'

/** What is checked about a goal when something is proposed for it, and again when it is approved. */

const noSuchGoal = (): ServiceError => namedError('ErrGoalNotFound', 'there is no such goal')
const noSuchTask = (): ServiceError => namedError('ErrTaskNotFound', 'there is no such task')

export const existingGoal = async (
  records: SharedRecords,
  user_id: number,
  goal_id: number,
): Promise<GoalRecord> => {
  const goal = await records.goal(user_id, goal_id)
  if (goal === undefined) throw noSuchGoal()
  return goal
}

/** A task of another goal is no task of this one. */
export const existingTask = async (
  records: SharedRecords,
  { user_id, goal_id }: GoalRecord,
  task_id: number,
): Promise<TaskRecord> => {
  const task = await records.task(user_id, task_id)
  if (task === undefined || task.goal_id !== goal_id) throw noSuchTask()
  return task
}

/** Also while it is paused or stuck: what is proposed then waits for an approval all the same. */
export const checkMayPropose = ({ status }: GoalRecord): void => {
  if (status === 'completed' || status === 'cancelled') {
    throw namedError('ErrIllegalTransition', `the goal is ${status}`)
  }
}

export const checkMayStart = ({ status }: GoalRecord): void => {
  if (status !== 'draft' && status !== 'active') {
    throw namedError('ErrGoalNotActive', `the goal is ${status}`)
  }
}

const OVER: readonly string[] = ['done', 'failed', 'cancelled']

export const checkTaskOpen = ({ status, task_id }: TaskRecord): void => {
  if (OVER.includes(status)) {
    throw namedError('ErrIllegalTransition', `task ${task_id} is ${status}`)
  }
}
