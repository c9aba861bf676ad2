import type { CallerView } from '../identity/endpoint-view.ts'
import {
  isObject,
  notificationText,
  type Params,
  type RequestId,
  RpcError,
  rpcCodes,
} from './json-rpc.ts'
import { clientCapabilities, metaKeys } from './modern-envelope.ts'
import { grantedQueue } from './resources.ts'
import { serverInfo } from './result.ts'

/** subscriptions/listen of 2026-07-28: what the client asked for, and what of it we honor. */

export interface ListenFilter {
  readonly tools_list: boolean
  readonly resources_list: boolean
  /** Queues whose resource the client named and the endpoint is granted. */
  readonly queues: ReadonlySet<string>
  /**
   * `notifications/claude/channel` beside resources/updated. This revision forbids notifications
   * that the client did not ask for; asking is declaring the capability on the listen request.
   */
  readonly channel: boolean
}

const URIS_MAX = 256

const invalid = (message: string): RpcError => new RpcError(rpcCodes.invalid_params, message)

const readUris = (value: unknown): readonly string[] => {
  if (value === undefined) return []
  const isList = Array.isArray(value) && value.every((uri) => typeof uri === 'string')
  if (!isList) throw invalid('notifications.resourceSubscriptions must be a list of URIs')
  if (value.length > URIS_MAX) throw invalid(`at most ${URIS_MAX} resources can be subscribed to`)
  return value
}

const readFlag = (filter: Params, name: string): boolean => {
  const value = filter[name] ?? false
  if (typeof value !== 'boolean') throw invalid(`notifications.${name} must be true or false`)
  return value
}

const wantsChannel = (params: Params): boolean => {
  const { experimental } = clientCapabilities(params)
  return isObject(experimental) && 'claude/channel' in experimental
}

export const readListenFilter = (params: Params, view: CallerView): ListenFilter => {
  const filter = params.notifications
  if (!isObject(filter)) throw invalid('params.notifications must be an object')
  readFlag(filter, 'promptsListChanged')
  const queues = readUris(filter.resourceSubscriptions)
    .map((uri) => grantedQueue(view, uri))
    .filter((queue) => queue !== undefined)
  return {
    tools_list: readFlag(filter, 'toolsListChanged'),
    resources_list: readFlag(filter, 'resourcesListChanged'),
    queues: new Set(queues),
    channel: wantsChannel(params),
  }
}

export const isEmptyFilter = ({ tools_list, resources_list, queues }: ListenFilter): boolean =>
  !tools_list && !resources_list && queues.size === 0

/** The first message on the stream: the part of the filter that we honor. */
export const acknowledgement = (
  filter: ListenFilter,
  id: RequestId,
  uriOf: (queue: string) => string,
): string =>
  notificationText('notifications/subscriptions/acknowledged', {
    _meta: { [metaKeys.subscription_id]: id },
    notifications: {
      ...(filter.tools_list ? { toolsListChanged: true } : {}),
      ...(filter.resources_list ? { resourcesListChanged: true } : {}),
      ...(filter.queues.size > 0 ? { resourceSubscriptions: [...filter.queues].map(uriOf) } : {}),
    },
  })

/** The result of the listen request: the server ended the subscription in good order. */
export const listenResult = (id: RequestId): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: {
      resultType: 'complete',
      _meta: { [metaKeys.subscription_id]: id, [metaKeys.server_info]: serverInfo },
    },
  })
