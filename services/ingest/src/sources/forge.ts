import { eventTitle, eventType, fieldsOf, subjectTitle } from './description.ts'
import type { DescribeInput, Description, RequestHeaders } from './source.ts'

/** What GitHub, Gitea and Forgejo have in common: the shape of their events. */

/** Gitea and Forgejo send GitHub's headers too, so their own names come first. */
const EVENT_HEADERS = [
  ['x-gitea-event', 'gitea'],
  ['x-forgejo-event', 'gitea'],
  ['x-github-event', 'github'],
] as const

const DELIVERY_HEADERS = ['x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery'] as const

/** The delivery id that a forge claims. It is not signed. */
export const forgeDeliveryId = (headers: RequestHeaders): string | undefined => {
  const name = DELIVERY_HEADERS.find((header) => headers[header] !== undefined)
  return name === undefined ? undefined : headers[name]
}

export const forgeOf = (headers: RequestHeaders): 'github' | 'gitea' | undefined =>
  EVENT_HEADERS.find(([header]) => headers[header] !== undefined)?.[1]

export const describeForge = (
  provider: 'github' | 'gitea',
  { headers, json }: DescribeInput,
): Description => {
  const header = EVENT_HEADERS.find(([name]) => headers[name] !== undefined)?.[0]
  const event = header === undefined ? undefined : eventType(headers[header])
  const fields = fieldsOf(json)
  const repo = fieldsOf(fields.repository).full_name
  const pull = fieldsOf(fields.pull_request)
  const item = pull.number === undefined ? fieldsOf(fields.issue) : pull
  const { number, title } = item
  const { action } = fields
  return {
    ...(event === undefined ? {} : { event_type: event }),
    title:
      number === undefined
        ? eventTitle(provider, event, repo)
        : subjectTitle({ kind: item === pull ? 'PR' : 'Issue', number, action, repo, title }),
  }
}
