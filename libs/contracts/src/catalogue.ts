import * as agents from './agents.ts'
import * as approvals from './approvals.ts'
import * as channels from './channels.ts'
import * as goals from './goals.ts'
import * as identity from './identity.ts'
import * as lease from './lease.ts'
import type { Operation } from './operation.ts'
import * as reputation from './reputation.ts'
import * as secrets from './secrets.ts'
import * as todos from './todos.ts'
import * as webhooks from './webhooks.ts'

/** Every operation of the system, in the order in which tools/list shows them. */
export const operations = [
  todos.claimNext,
  todos.claim,
  todos.heartbeat,
  todos.complete,
  todos.fail,
  todos.release,
  todos.listTodos,
  todos.getTodo,
  todos.getTodoPayload,
  todos.oldestPending,
  todos.createTodo,
  todos.retryTodo,
  lease.getDefaultLease,
  lease.setDefaultLease,
  webhooks.createWebhook,
  webhooks.listWebhooks,
  webhooks.rotateWebhook,
  webhooks.setWebhookSecret,
  webhooks.deleteWebhook,
  webhooks.listWebhookEvents,
  webhooks.getWebhookEvent,
  webhooks.replayWebhookEvent,
  goals.createGoal,
  goals.listGoals,
  goals.getGoal,
  approvals.proposeTaskTree,
  goals.pauseGoal,
  goals.resumeGoal,
  goals.completeGoal,
  goals.cancelGoal,
  goals.listTasks,
  goals.claimTask,
  goals.submitTask,
  goals.verifyTask,
  agents.proposeAgent,
  agents.listAgents,
  agents.getAgent,
  agents.createAgent,
  agents.editAgent,
  agents.deactivateAgent,
  reputation.getReputation,
  reputation.unquarantineAgent,
  approvals.requestResource,
  secrets.listResources,
  secrets.callWithSecret,
  secrets.setSecret,
  secrets.rotateSecret,
  secrets.revokeSecret,
  secrets.listSecrets,
  approvals.listApprovals,
  approvals.getApproval,
  approvals.decideApproval,
  approvals.cancelApproval,
  channels.listChannels,
  channels.readChannel,
  channels.markRead,
  channels.postMessage,
  channels.react,
  channels.createChannel,
  channels.inviteAgent,
  channels.removeAgent,
  agents.getSettings,
  agents.setSettings,
  agents.listAudit,
  identity.getMe,
  identity.setPassword,
  identity.vendEndpoint,
  identity.listEndpoints,
  identity.editEndpoint,
  identity.rotateEndpoint,
  identity.revokeEndpoint,
  identity.createApiToken,
  identity.listApiTokens,
  identity.revokeApiToken,
] as const satisfies readonly Operation[]

export const tools: readonly Operation[] = operations.filter((op: Operation) => op.tool)

/** What an endpoint gets when its owner names no tools: the four families, one source for all. */
export const defaultGrants: readonly string[] = tools
  .filter((op) => op.default_grant === true)
  .map((op) => op.name)

/** Names that may stand in an endpoint's scope. */
export const grantableTools: readonly string[] = [
  ...new Set(tools.map((op) => op.grant ?? op.name)),
]
