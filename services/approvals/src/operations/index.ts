import { bind, bindAnonymous } from '@guildhall/bus'
import {
  cancelApproval,
  claimCredential,
  createAgent,
  createApiToken,
  deactivateAgent,
  decideApproval,
  editAgent,
  editEndpoint,
  getAgent,
  getApproval,
  getMe,
  getSettings,
  listAgents,
  listApiTokens,
  listApprovals,
  listEndpoints,
  login,
  proposeAgent,
  proposeTaskTree,
  requestResource,
  revokeApiToken,
  revokeEndpoint,
  rotateEndpoint,
  setDefaultLease,
  setPassword,
  setSettings,
  vendEndpoint,
} from '@guildhall/contracts'
import { recordingDenials } from '../denials.ts'
import type { Deps } from '../deps.ts'
import { handleCancelApproval } from './cancel-approval.ts'
import { bindChannels } from './channels.ts'
import { handleClaimCredential } from './claim-credential.ts'
import { handleCreateAgent } from './create-agent.ts'
import { handleCreateApiToken } from './create-api-token.ts'
import { handleDeactivateAgent } from './deactivate-agent.ts'
import { handleDecideApproval } from './decide-approval.ts'
import { handleEditAgent } from './edit-agent.ts'
import { handleEditEndpoint } from './edit-endpoint.ts'
import { handleGetAgent } from './get-agent.ts'
import { handleGetApproval } from './get-approval.ts'
import { handleGetMe } from './get-me.ts'
import { handleGetSettings } from './get-settings.ts'
import { handleListAgents } from './list-agents.ts'
import { handleListApiTokens } from './list-api-tokens.ts'
import { handleListApprovals } from './list-approvals.ts'
import { handleListEndpoints } from './list-endpoints.ts'
import { handleLogin } from './login.ts'
import { handleProposeAgent } from './propose-agent.ts'
import { handleProposeTaskTree } from './propose-task-tree.ts'
import { handleRequestResource } from './request-resource.ts'
import { handleRevokeApiToken } from './revoke-api-token.ts'
import { handleRevokeEndpoint } from './revoke-endpoint.ts'
import { handleRotateEndpoint } from './rotate-endpoint.ts'
import { handleSetDefaultLease } from './set-default-lease.ts'
import { handleSetPassword } from './set-password.ts'
import { handleSetSettings } from './set-settings.ts'
import { handleVendEndpoint } from './vend-endpoint.ts'

/** Everything that this service answers. */
export const bindOperations = (deps: Deps): readonly ReturnType<typeof bind>[] =>
  bindAll(deps).map((binding) => recordingDenials(deps, binding))

const bindAll = (deps: Deps): readonly ReturnType<typeof bind>[] => [
  bindAnonymous(login, handleLogin(deps)),
  bind(getMe, handleGetMe(deps)),
  bind(setPassword, handleSetPassword(deps)),
  bind(vendEndpoint, handleVendEndpoint(deps)),
  bind(listEndpoints, handleListEndpoints(deps)),
  bind(editEndpoint, handleEditEndpoint(deps)),
  bind(rotateEndpoint, handleRotateEndpoint(deps)),
  bind(revokeEndpoint, handleRevokeEndpoint(deps)),
  bind(setDefaultLease, handleSetDefaultLease(deps)),
  bind(createApiToken, handleCreateApiToken(deps)),
  bind(listApiTokens, handleListApiTokens(deps)),
  bind(revokeApiToken, handleRevokeApiToken(deps)),
  ...bindChannels(deps),
  bindAnonymous(claimCredential, handleClaimCredential(deps)),
  bind(cancelApproval, handleCancelApproval(deps)),
  bind(createAgent, handleCreateAgent(deps)),
  bind(deactivateAgent, handleDeactivateAgent(deps)),
  bind(decideApproval, handleDecideApproval(deps)),
  bind(editAgent, handleEditAgent(deps)),
  bind(getAgent, handleGetAgent(deps)),
  bind(getApproval, handleGetApproval(deps)),
  bind(getSettings, handleGetSettings(deps)),
  bind(listAgents, handleListAgents(deps)),
  bind(listApprovals, handleListApprovals(deps)),
  bind(proposeAgent, handleProposeAgent(deps)),
  bind(proposeTaskTree, handleProposeTaskTree(deps)),
  bind(requestResource, handleRequestResource(deps)),
  bind(setSettings, handleSetSettings(deps)),
]
