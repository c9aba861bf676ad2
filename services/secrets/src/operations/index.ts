import { bind, type serveOperations } from '@guildhall/bus'
import {
  callWithSecret,
  listResources,
  listSecrets,
  revokeSecret,
  rotateSecret,
  setSecret,
} from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { callWithSecretHandler } from './call-with-secret.ts'
import { listResourcesHandler } from './list-resources.ts'
import { listSecretsHandler } from './list-secrets.ts'
import { revokeSecretHandler } from './revoke-secret.ts'
import { rotateSecretHandler } from './rotate-secret.ts'
import { setSecretHandler } from './set-secret.ts'

export const operationsOf = (deps: Deps): Parameters<typeof serveOperations>[1] => [
  bind(setSecret, setSecretHandler(deps)),
  bind(rotateSecret, rotateSecretHandler(deps)),
  bind(revokeSecret, revokeSecretHandler(deps)),
  bind(listSecrets, listSecretsHandler(deps)),
  bind(listResources, listResourcesHandler(deps)),
  bind(callWithSecret, callWithSecretHandler(deps)),
]
