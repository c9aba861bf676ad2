import type { Ring } from '@guildhall/contracts'
import type { EndpointView } from '../identity/endpoint-view.ts'
import { notificationText, type RequestId } from '../protocol/json-rpc.ts'
import { type ListenFilter, listenResult } from '../protocol/listen.ts'
import { metaKeys } from '../protocol/modern-envelope.ts'
import { queueUri } from '../protocol/resources.ts'
import { channelParams } from './channel-text.ts'

/**
 * What a client wants to hear, and in which form. A GET stream of the older era hears everything
 * that its endpoint may; a listen stream of 2026-07-28 hears what it named, stamped with its id.
 */
export interface Subscriber {
  /** The queues to be rung for, given the endpoint as it is now. */
  queues(view: EndpointView): readonly string[]
  ringMessages(ring: Ring): readonly string[]
  toolsChanged(): string | undefined
  resourcesChanged(): string | undefined
  /** The last message of a stream that the server ends in good order. */
  farewell(): string | undefined
}

const UPDATED = 'notifications/resources/updated'
const CHANNEL = 'notifications/claude/channel'
const TOOLS_CHANGED = 'notifications/tools/list_changed'
const RESOURCES_CHANGED = 'notifications/resources/list_changed'

export const legacySubscriber: Subscriber = {
  queues: (view) => [...view.queues],
  ringMessages: (ring) => [
    notificationText(UPDATED, { uri: queueUri(ring.queue) }),
    notificationText(CHANNEL, channelParams(ring)),
  ],
  toolsChanged: () => notificationText(TOOLS_CHANGED),
  resourcesChanged: () => notificationText(RESOURCES_CHANGED),
  farewell: () => undefined,
}

export const listenSubscriber = (filter: ListenFilter, id: RequestId): Subscriber => {
  const stamped = (method: string, params: object = {}): string =>
    notificationText(method, { ...params, _meta: { [metaKeys.subscription_id]: id } })
  return {
    queues: (view) => [...filter.queues].filter((queue) => view.queues.has(queue)),
    ringMessages: (ring) => [
      stamped(UPDATED, { uri: queueUri(ring.queue) }),
      ...(filter.channel ? [stamped(CHANNEL, channelParams(ring))] : []),
    ],
    toolsChanged: () => (filter.tools_list ? stamped(TOOLS_CHANGED) : undefined),
    resourcesChanged: () => (filter.resources_list ? stamped(RESOURCES_CHANGED) : undefined),
    farewell: () => listenResult(id),
  }
}
