import { listTodos, listWebhookEvents, QueueName, toServiceError } from '@guildhall/contracts'
import { forward } from '../calls/forward.ts'
import { type CallerView, mayUse } from '../identity/endpoint-view.ts'
import type { ToolContext, ToolServices } from '../tools/tool-context.ts'
import { RpcError, rpcCodes } from './json-rpc.ts'
import { type Members, membersOf } from './result.ts'

/** Each granted queue is a resource: the standard way to subscribe to a doorbell. */

const QUEUE_PREFIX = 'guildhall://queues/'
const EVENTS_URI = 'guildhall://events/recent'
const JSON_TYPE = 'application/json'
const QUEUE_ROWS = 20
const EVENT_ROWS = 50

export const queueUri = (queue: string): string => `${QUEUE_PREFIX}${queue}`

/** The queue that a URI names, if it is one that this endpoint may use. */
export const grantedQueue = (view: CallerView, uri: string): string | undefined => {
  if (!uri.startsWith(QUEUE_PREFIX)) return undefined
  const queue = uri.slice(QUEUE_PREFIX.length)
  return QueueName.safeParse(queue).success && view.queues.has(queue) ? queue : undefined
}

export const listResources = (view: CallerView): Members => {
  const queues = [...view.queues].map((queue) => ({
    uri: queueUri(queue),
    name: queue,
    title: `Queue ${queue}`,
    description: 'Updated when a todo in this queue becomes claimable.',
    mimeType: JSON_TYPE,
  }))
  const events = {
    uri: EVENTS_URI,
    name: 'recent-events',
    title: 'Recent webhook events',
    description: `The ${EVENT_ROWS} newest deliveries of your webhooks, without bodies.`,
    mimeType: JSON_TYPE,
  }
  return membersOf({
    resources: mayUse(view, listWebhookEvents) ? [...queues, events] : queues,
  })
}

export const listResourceTemplates = (): Members => membersOf({ resourceTemplates: [] })

const readQueue = async (services: ToolServices, context: ToolContext, queue: string) => {
  if (!mayUse(context.view, listTodos)) {
    return { queue, note: 'This endpoint may not list todos. Take work with claim_next.' }
  }
  const args = { queue, state: 'pending', limit: QUEUE_ROWS }
  const page = await forward(services, context, listTodos, args)
  return { queue, pending: page.todos, more: page.next_cursor !== undefined }
}

const readEvents = async (services: ToolServices, context: ToolContext) => {
  const args = { limit: EVENT_ROWS }
  const page = await forward(services, context, listWebhookEvents, args)
  return { events: page.events }
}

/** Undefined for what does not exist or is not this endpoint's: the two must look the same. */
const contentOf = (
  services: ToolServices,
  context: ToolContext,
  uri: string,
): Promise<object> | undefined => {
  if (uri === EVENTS_URI && mayUse(context.view, listWebhookEvents)) {
    return readEvents(services, context)
  }
  const queue = grantedQueue(context.view, uri)
  return queue === undefined ? undefined : readQueue(services, context, queue)
}

/** A resource has no `isError`: a failed read is a protocol error that carries our error body. */
const readFailure = (cause: unknown, { request_id }: ToolContext): RpcError => {
  const body = toServiceError(cause).toBody(request_id)
  return new RpcError(rpcCodes.internal_error, body.message, { data: body })
}

export const readResource = async (
  services: ToolServices,
  context: ToolContext,
  uri: unknown,
  not_found_code: number,
): Promise<Members> => {
  if (typeof uri !== 'string') throw new RpcError(rpcCodes.invalid_params, 'params.uri is required')
  const content = contentOf(services, context, uri)
  if (content === undefined) {
    throw new RpcError(not_found_code, 'Resource not found', { data: { uri } })
  }
  try {
    const text = JSON.stringify(await content)
    return membersOf({ contents: [{ uri, mimeType: JSON_TYPE, text }] })
  } catch (error) {
    services.log.info({ err: error, request_id: context.request_id }, 'resource not read')
    throw readFailure(error, context)
  }
}
