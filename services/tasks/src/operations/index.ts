import { bind, serveOperations } from '@guildhall/bus'
import * as contracts from '@guildhall/contracts'
import type { Part } from '@guildhall/runtime'
import type { Tasks } from '../context.ts'
import { handleCancelGoal } from './cancel-goal.ts'
import { handleClaim } from './claim.ts'
import { handleClaimNext } from './claim-next.ts'
import { handleClaimTask } from './claim-task.ts'
import { handleComplete } from './complete.ts'
import { handleCompleteGoal } from './complete-goal.ts'
import { handleCreateGoal } from './create-goal.ts'
import { handleCreateTodo } from './create-todo.ts'
import { handleFail } from './fail.ts'
import { handleGetGoal } from './get-goal.ts'
import { handleGetTodo } from './get-todo.ts'
import { handleGetTodoPayload } from './get-todo-payload.ts'
import { handleHeartbeat } from './heartbeat.ts'
import { handleListGoals } from './list-goals.ts'
import { handleListTasks } from './list-tasks.ts'
import { handleListTodos, handleOldestPending } from './list-todos.ts'
import { handlePauseGoal } from './pause-goal.ts'
import { handleRelease } from './release.ts'
import { handleResumeGoal } from './resume-goal.ts'
import { handleRetryTodo } from './retry-todo.ts'
import { handleSubmitTask } from './submit-task.ts'
import { handleVerifyTask } from './verify-task.ts'

export const serveTasks = (tasks: Tasks): Part =>
  serveOperations(
    tasks.bus,
    [
      bind(contracts.claimNext, handleClaimNext(tasks)),
      bind(contracts.claim, handleClaim(tasks)),
      bind(contracts.heartbeat, handleHeartbeat(tasks)),
      bind(contracts.complete, handleComplete(tasks)),
      bind(contracts.fail, handleFail(tasks)),
      bind(contracts.release, handleRelease(tasks)),
      bind(contracts.listTodos, handleListTodos(tasks)),
      bind(contracts.getTodo, handleGetTodo(tasks)),
      bind(contracts.getTodoPayload, handleGetTodoPayload(tasks)),
      bind(contracts.oldestPending, handleOldestPending(tasks)),
      bind(contracts.createTodo, handleCreateTodo(tasks)),
      bind(contracts.retryTodo, handleRetryTodo(tasks)),
      bind(contracts.createGoal, handleCreateGoal(tasks)),
      bind(contracts.listGoals, handleListGoals(tasks)),
      bind(contracts.getGoal, handleGetGoal(tasks)),
      bind(contracts.pauseGoal, handlePauseGoal(tasks)),
      bind(contracts.resumeGoal, handleResumeGoal(tasks)),
      bind(contracts.completeGoal, handleCompleteGoal(tasks)),
      bind(contracts.cancelGoal, handleCancelGoal(tasks)),
      bind(contracts.listTasks, handleListTasks(tasks)),
      bind(contracts.claimTask, handleClaimTask(tasks)),
      bind(contracts.submitTask, handleSubmitTask(tasks)),
      bind(contracts.verifyTask, handleVerifyTask(tasks)),
    ],
    { log: tasks.log },
  )
