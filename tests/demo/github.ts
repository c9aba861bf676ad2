import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import type { WebhookWithSecret } from '@guildhall/contracts'
import { type Answer, request } from './request.ts'

/** GitHub's part: bodies from its own examples, signed as it signs. */

interface Definition {
  readonly name: string
  readonly examples: readonly (object & { readonly action?: string })[]
}

const definitions: readonly Definition[] = createRequire(import.meta.url)(
  '@octokit/webhooks-examples',
)

export interface GithubEvent {
  readonly event: string
  readonly body: string
}

export const githubEvent = (event: string, action: string): GithubEvent => {
  const examples = definitions.find(({ name }) => name === event)?.examples ?? []
  return { event, body: JSON.stringify(examples.find((example) => example.action === action)) }
}

export const deliver = (
  { ingest_url }: WebhookWithSecret,
  { event, body }: GithubEvent,
  secret: string,
  delivery_id: string,
): Promise<Answer> => {
  const digest = createHmac('sha256', secret).update(body).digest('hex')
  const headers = {
    'x-github-event': event,
    'x-github-delivery': delivery_id,
    'x-hub-signature-256': `sha256=${digest}`,
  }
  return request('POST', ingest_url, headers, body)
}
