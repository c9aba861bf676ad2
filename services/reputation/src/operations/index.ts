import { bind } from '@guildhall/bus'
import { getReputation, unquarantineAgent } from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { handleGetReputation } from './get-reputation.ts'
import { handleUnquarantineAgent } from './unquarantine-agent.ts'

/** Everything that this service answers. */
export const bindOperations = (deps: Deps): readonly ReturnType<typeof bind>[] => [
  bind(getReputation, handleGetReputation(deps)),
  bind(unquarantineAgent, handleUnquarantineAgent(deps)),
]
