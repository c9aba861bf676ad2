import { type Bus, createKv } from '@guildhall/bus'
import {
  buckets,
  GoalRecord,
  goalKey,
  TaskRecord,
  taskItemId,
  taskKey,
  WorkRecord,
  workKey,
} from '@guildhall/contracts'

/**
 * What the tasks service keeps on the bus for others, read fresh: a decision is taken from it. Keys
 * hold the owner, so what is somebody else's is simply not there.
 */
export interface SharedRecords {
  goal(user_id: number, goal_id: number): Promise<GoalRecord | undefined>
  task(user_id: number, task_id: number): Promise<TaskRecord | undefined>
  /** The claim record of a leaf task. */
  work(user_id: number, task_id: number): Promise<WorkRecord | undefined>
}

export const createSharedRecords = (bus: Bus): SharedRecords => {
  // Goals and tasks share a bucket, so each reader takes the one kind that its keys name.
  const goals = createKv(bus, buckets.goals, GoalRecord)
  const tasks = createKv(bus, buckets.goals, TaskRecord)
  const work = createKv(bus, buckets.work, WorkRecord)
  const read = async <T>(entry: Promise<{ value: T } | undefined>) => (await entry)?.value
  return {
    goal: (user_id, goal_id) => read(goals.get(goalKey(user_id, goal_id))),
    task: (user_id, task_id) => read(tasks.get(taskKey(user_id, task_id))),
    work: (user_id, task_id) => read(work.get(workKey(user_id, taskItemId(task_id)))),
  }
}
