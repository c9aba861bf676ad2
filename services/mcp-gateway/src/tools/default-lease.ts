import {
  describeDefaultLease,
  type Endpoint,
  ServiceError,
  setDefaultLease,
} from '@guildhall/contracts'
import { forward } from '../calls/forward.ts'
import { untilEndpoint } from '../identity/identity.ts'
import { toolMembers } from '../protocol/result.ts'
import type { Arguments, ToolAnswer, ToolContext, ToolServices } from './tool-context.ts'

/** The mirror follows within milliseconds. Should it hang, the answer must not. */
const MIRROR_WAIT_MS = 2_000

/** The endpoint that authenticated this call says it all: no service is asked. */
export const callGetDefaultLease = (context: ToolContext): ToolAnswer => {
  const { default_lease_ttl_seconds } = endpointOf(context)
  return { members: toolMembers(JSON.stringify(describeDefaultLease(default_lease_ttl_seconds))) }
}

/** A person is not granted these tools, so there always is one. */
const endpointOf = ({ endpoint }: ToolContext): Endpoint => {
  if (endpoint !== undefined) return endpoint.endpoint
  throw new ServiceError('forbidden', 'a default lease belongs to an endpoint')
}

/** Answers once this replica's next call will see the new value. */
export const callSetDefaultLease = async (
  services: ToolServices,
  context: ToolContext,
  args: Arguments,
): Promise<ToolAnswer> => {
  const output = await forward(services, context, setDefaultLease, args)
  const wanted = output.default_lease_ttl_seconds
  const shown = await untilEndpoint(
    services.identity,
    endpointOf(context).endpoint_id,
    ({ endpoint }) => endpoint.default_lease_ttl_seconds === wanted,
    MIRROR_WAIT_MS,
  )
  if (!shown)
    services.log.warn({ request_id: context.request_id }, 'new default lease not seen yet')
  return { members: toolMembers(JSON.stringify(output)) }
}
