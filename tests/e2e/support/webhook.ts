import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { DeliveryAccepted, type WebhookWithSecret } from '@guildhall/contracts'
import { type Answer, send } from './http.ts'

/** A provider that posts to a webhook. The bodies are GitHub's own examples. */

interface Definition {
  readonly name: string
  readonly examples: readonly (object & { readonly action?: string })[]
}

const definitions: readonly Definition[] = createRequire(import.meta.url)(
  '@octokit/webhooks-examples',
)

/** Changed by `marker`, which makes it a delivery of its own: a signed body is its identity. */
export const githubBody = (event: string, action: string, marker?: string): string => {
  const examples = definitions.find(({ name }) => name === event)?.examples ?? []
  const example = examples.find((candidate) => candidate.action === action)
  if (example === undefined) throw new Error(`there is no example of ${event} ${action}`)
  return JSON.stringify(marker === undefined ? example : { ...example, marker })
}

export const signature = (secret: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

interface Delivery {
  readonly body: string
  readonly event?: string
  readonly id?: string
  /** Default: the right one. */
  readonly signature?: string
}

type Hook = Pick<WebhookWithSecret, 'ingest_url' | 'signing_secret'>

export const deliver = (
  { ingest_url, signing_secret = '' }: Hook,
  { body, event = 'pull_request', id = 'guid-1', signature: given }: Delivery,
  at?: string,
): Promise<Answer> =>
  send(at === undefined ? ingest_url : `${at}${new URL(ingest_url).pathname}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': given ?? signature(signing_secret, body),
    },
    body,
  })

/** What a 202 says; throws on any other answer. */
export const accepted = (answer: Answer): DeliveryAccepted => {
  if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`)
  return DeliveryAccepted.parse(answer.body)
}
