import { bind, bindAnonymous } from '@guildhall/bus'
import {
  createApiToken,
  editEndpoint,
  getMe,
  listApiTokens,
  listEndpoints,
  login,
  revokeApiToken,
  revokeEndpoint,
  rotateEndpoint,
  setDefaultLease,
  setPassword,
  vendEndpoint,
} from '@guildhall/contracts'
import { recordingDenials } from '../denials.ts'
import type { Deps } from '../deps.ts'
import { bindChannels } from './channels.ts'
import { handleCreateApiToken } from './create-api-token.ts'
import { handleEditEndpoint } from './edit-endpoint.ts'
import { handleGetMe } from './get-me.ts'
import { handleListApiTokens } from './list-api-tokens.ts'
import { handleListEndpoints } from './list-endpoints.ts'
import { handleLogin } from './login.ts'
import { handleRevokeApiToken } from './revoke-api-token.ts'
import { handleRevokeEndpoint } from './revoke-endpoint.ts'
import { handleRotateEndpoint } from './rotate-endpoint.ts'
import { handleSetDefaultLease } from './set-default-lease.ts'
import { handleSetPassword } from './set-password.ts'
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
]
