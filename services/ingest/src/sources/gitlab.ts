import { eventTitle, eventType, fieldsOf, subjectTitle } from './description.ts'
import { checkFreeSecret, mintStandardSecret, standardKey } from './secrets.ts'
import { bodyHash, equalSecrets } from './signature.ts'
import {
  type DescribeInput,
  type Description,
  refused,
  type Source,
  type Verdict,
  type VerifyInput,
} from './source.ts'
import { verifyStandard } from './standard.ts'

/**
 * GitLab has two ways. With a signing token it signs as Standard Webhooks say; its `webhook-id` is
 * then signed and stays the same over retries. With a secret token it only repeats the secret in
 * `X-Gitlab-Token`, and the body is all that tells deliveries apart. A request that carries a
 * signature is judged by it alone. The secret that we mint fits both fields.
 */
const verify = (input: VerifyInput): Verdict => {
  const { headers, body, secrets } = input
  if (headers['webhook-signature'] !== undefined) {
    return verifyStandard(input, (secret) => standardKey(secret) ?? Buffer.from(secret))
  }
  const token = headers['x-gitlab-token']
  if (token === undefined) return refused('signature_missing')
  // Node reads header bytes as latin1; the secret may hold UTF-8.
  const given = Buffer.from(token, 'latin1')
  let matches = false
  for (const secret of secrets) {
    if (equalSecrets(Buffer.from(secret), given)) matches = true
  }
  if (!matches) return refused('signature_mismatch')
  return { ok: true, detail: 'secret token ok', external_id: bodyHash(body) }
}

const describe = ({ headers, json }: DescribeInput): Description => {
  const fields = fieldsOf(json)
  const event = eventType(headers['x-gitlab-event']) ?? eventType(fields.object_kind)
  const repo = fieldsOf(fields.project).path_with_namespace
  const { iid: number, action, title } = fieldsOf(fields.object_attributes)
  const kinds = { merge_request: 'MR', issue: 'Issue' } as const
  const kind = fields.object_kind
  return {
    ...(event === undefined ? {} : { event_type: event }),
    title:
      kind === 'merge_request' || kind === 'issue'
        ? subjectTitle({ kind: kinds[kind], number, action, repo, title })
        : eventTitle('gitlab', event, repo),
  }
}

export const gitlab: Source = {
  trust_mode: 'signed',
  verify,
  describe,
  checkSecret: checkFreeSecret,
  mint: mintStandardSecret,
}
