import type { Handler } from '@guildhall/bus'
import { type AgentRecord, type getGoal, type OutputOf, TREE_NODES_MAX } from '@guildhall/contracts'
import type { Tasks } from '../context.ts'
import { goalNotFound } from '../goal-access.ts'
import { toGoal, toTask } from '../goal-rows.ts'
import { fitting } from '../page.ts'
import { percentOfBudget } from '../purses.ts'
import { newestGoalEvents } from '../store/goal-events.ts'
import { assigneesOf, costByBillingCode, tasksOfGoal } from '../store/goal-lists.ts'
import { findGoal } from '../store/goals.ts'

/** One whole tree of the largest size; list_tasks has the rest. */
const TASKS_SHOWN_MAX = TREE_NODES_MAX

type Shown = OutputOf<typeof getGoal>

const toSpawned = (agent: AgentRecord): Shown['spawned_agents'][number] => ({
  id: agent.agent_id,
  name: agent.name,
  display_name: agent.display_name,
  config_hash: agent.config_hash,
  spawn_depth: agent.spawn_depth,
  autonomy_tier: agent.autonomy_tier,
  ...(agent.parent_agent_name === null ? {} : { parent_agent_name: agent.parent_agent_name }),
})

const toCosts = (
  costs: Awaited<ReturnType<typeof costByBillingCode>>,
  percent_of_budget: number | null,
): Shown['cost_breakdown'] => ({
  total: costs.reduce(
    (sum, cost) => ({
      tokens: sum.tokens + cost.tokens,
      dollars_cents: sum.dollars_cents + cost.dollars_cents,
      task_count: sum.task_count + cost.task_count,
    }),
    { tokens: 0, dollars_cents: 0, task_count: 0 },
  ),
  by_billing_code: costs.map(({ task_count: _count, ...cost }) => cost),
  percent_of_budget,
})

export const handleGetGoal =
  (tasks: Tasks): Handler<typeof getGoal> =>
  async ({ principal }, { goal_id }) => {
    const { db, agents } = tasks
    const owner_user_id = principal.user_id
    const goal = await findGoal(db, { owner_user_id, goal_id })
    if (goal === undefined) throw goalNotFound()
    const [rows, costs, recent_events, assignees] = await Promise.all([
      tasksOfGoal(db, goal_id, TASKS_SHOWN_MAX + 1),
      costByBillingCode(db, goal_id),
      newestGoalEvents(db, goal_id),
      assigneesOf(db, goal_id),
    ])
    const tasks_tree = fitting(rows.slice(0, TASKS_SHOWN_MAX).map(toTask))
    const on_it = [...new Set([goal.coordinator_agent_id, ...assignees])]
    return {
      goal: toGoal(goal),
      tasks_tree: [...tasks_tree],
      tasks_truncated: tasks_tree.length < rows.length,
      spawned_agents: on_it
        .map((agent_id) => agents.get(owner_user_id, agent_id))
        .filter((agent) => agent !== undefined)
        .map(toSpawned),
      cost_breakdown: toCosts(costs, percentOfBudget(goal)),
      recent_events,
    }
  }
