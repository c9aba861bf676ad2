import { LINEAR_TOLERANCE_SECONDS } from '@guildhall/contracts'
import { eventType, fieldsOf, itemTitle, word } from './description.ts'
import { parseJson } from './json.ts'
import { checkWordSecret } from './secrets.ts'
import { anyMatches, bodyHash, hmacSha256, readHexDigest } from './signature.ts'
import {
  type DescribeInput,
  type Description,
  refused,
  type Source,
  type Verdict,
  type VerifyInput,
} from './source.ts'

/**
 * Bare hex over the body. The time that is signed stands in the body (`webhookTimestamp`, in ms);
 * the headers `Linear-Timestamp` and `Linear-Delivery` are not. A retry has a new time, and
 * `webhookId` names the webhook, not the delivery: what stays is the rest of the body.
 */
const verify = ({ headers, body, secrets, now_ms }: VerifyInput): Verdict => {
  const header = headers['linear-signature']
  if (header === undefined) return refused('signature_missing')
  const given = readHexDigest(header)
  if (given === undefined) return refused('signature_malformed')
  const expected = secrets.map((secret) => hmacSha256(secret, body))
  if (!anyMatches(expected, [given])) return refused('signature_mismatch')
  const { webhookTimestamp: time, ...rest } = fieldsOf(parseJson(body))
  if (time === undefined) return refused('timestamp_missing')
  if (typeof time !== 'number' || !(time > 0)) return refused('timestamp_malformed')
  if (Math.abs(now_ms - time) > LINEAR_TOLERANCE_SECONDS * 1_000) {
    return refused('timestamp_out_of_tolerance')
  }
  return { ok: true, detail: 'hmac-sha256 ok', external_id: bodyHash(JSON.stringify(rest)) }
}

const describe = ({ json }: DescribeInput): Description => {
  const fields = fieldsOf(json)
  const event = eventType(fields.type)
  const { identifier, title, name } = fieldsOf(fields.data)
  return {
    ...(event === undefined ? {} : { event_type: event }),
    title: itemTitle(
      ['linear', word(event) ?? 'event', word(fields.action), word(identifier)],
      title ?? name,
    ),
  }
}

export const linear: Source = {
  trust_mode: 'signed',
  verify,
  describe,
  checkSecret: checkWordSecret,
}
