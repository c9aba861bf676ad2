import {
  claim,
  claimNext,
  getDefaultLease,
  ServiceError,
  setDefaultLease,
  toServiceError,
} from '@guildhall/contracts'
import { type Claimed, callClaim, callClaimNext } from '../calls/claims.ts'
import { forward } from '../calls/forward.ts'
import { toolCalls, toolSeconds } from '../gateway-metrics.ts'
import { mayUse } from '../identity/endpoint-view.ts'
import { isObject, RpcError, rpcCodes } from '../protocol/json-rpc.ts'
import { toolErrorMembers, toolMembers } from '../protocol/result.ts'
import { checkArguments } from './argument-problems.ts'
import { callGetDefaultLease, callSetDefaultLease } from './default-lease.ts'
import { callList, isPagedList } from './lists.ts'
import { type Tool, toolCatalogue } from './tool-catalogue.ts'
import type { Arguments, ToolAnswer, ToolContext, ToolServices } from './tool-context.ts'

const NAME_SHOWN_CHARS = 64

const claimAnswer = ({ output, undo }: Claimed<object>): ToolAnswer => ({
  members: toolMembers(JSON.stringify(output)),
  ...(undo === undefined ? {} : { undo }),
})

const run = async (
  services: ToolServices,
  context: ToolContext,
  { op }: Tool,
  args: Arguments,
): Promise<ToolAnswer> => {
  switch (op.name) {
    case claimNext.name:
      return claimAnswer(await callClaimNext(services, context, args))
    case claim.name:
      return claimAnswer(await callClaim(services, context, args))
    case getDefaultLease.name:
      return callGetDefaultLease(context)
    case setDefaultLease.name:
      return callSetDefaultLease(services, context, args)
    default: {
      if (isPagedList(op)) return callList(services, context, op, args)
      return { members: toolMembers(JSON.stringify(await forward(services, context, op, args))) }
    }
  }
}

const checkGrant = ({ op, grant }: Tool, { view }: ToolContext): void => {
  if (mayUse(view, op)) return
  if (op.human_only === true && !view.human) {
    throw new ServiceError('forbidden', `${op.name} is for people, and this is an agent`, {
      what_to_do: 'Ask your owner to do it.',
      details: { tool: op.name },
    })
  }
  throw new ServiceError('forbidden', `this endpoint is not granted ${op.name}`, {
    details: { tool: op.name, grant },
  })
}

/** What went wrong is told to the model as a result, so that it can act on it. */
const refuse = (services: ToolServices, context: ToolContext, tool: Tool, cause: unknown) => {
  const error = toServiceError(cause)
  const fields = { request_id: context.request_id, tool: tool.op.name, code: error.code }
  if (error.code === 'internal') services.log.error({ ...fields, err: cause }, 'tool call failed')
  else services.log.info(fields, 'tool call refused')
  toolCalls.inc({ tool: tool.op.name, outcome: error.code })
  return { members: toolErrorMembers(error.toBody(context.request_id)) }
}

/**
 * tools/call. A name that no tool has is an error of the protocol; everything that concerns a known
 * tool (not granted, bad arguments, a conflict, a service that is down) is a result.
 */
export const callTool = async (
  services: ToolServices,
  context: ToolContext,
  name: unknown,
  args: unknown = {},
): Promise<ToolAnswer> => {
  const tool = typeof name === 'string' ? toolCatalogue.get(name) : undefined
  if (tool === undefined) {
    const shown = typeof name === 'string' ? name.slice(0, NAME_SHOWN_CHARS) : typeof name
    throw new RpcError(rpcCodes.invalid_params, `Unknown tool: ${shown}`)
  }
  if (!isObject(args)) {
    throw new RpcError(rpcCodes.invalid_params, 'params.arguments must be an object')
  }
  const started = performance.now()
  try {
    checkGrant(tool, context)
    checkArguments(tool.input_schema, tool.validate, args)
    const answer = await run(services, context, tool, args)
    toolCalls.inc({ tool: tool.op.name, outcome: 'ok' })
    services.log.debug({ request_id: context.request_id, tool: tool.op.name }, 'tool call answered')
    return answer
  } catch (error) {
    return refuse(services, context, tool, error)
  } finally {
    toolSeconds.observe({ tool: tool.op.name }, (performance.now() - started) / 1_000)
  }
}
