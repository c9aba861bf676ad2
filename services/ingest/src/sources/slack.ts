import { SIGNATURE_TOLERANCE_SECONDS } from '@guildhall/contracts'
import { eventType, fieldsOf, selfManagedTitle } from './description.ts'
import { parseJson } from './json.ts'
import { checkWordSecret } from './secrets.ts'
import {
  anyMatches,
  bodyHash,
  hmacSha256,
  readHexDigest,
  readUnixSeconds,
  usableId,
  withinSeconds,
} from './signature.ts'
import { refused, type Source, type Verdict, type VerifyInput } from './source.ts'

const PREFIX = 'v0='

const verify = ({ headers, body, secrets, now_ms }: VerifyInput): Verdict => {
  const header = headers['x-slack-signature']
  if (header === undefined) return refused('signature_missing')
  const time = headers['x-slack-request-timestamp']
  if (time === undefined) return refused('timestamp_missing')
  const seconds = readUnixSeconds(time)
  if (seconds === undefined) return refused('timestamp_malformed')
  if (!header.startsWith(PREFIX)) return refused('signature_malformed')
  const given = readHexDigest(header.slice(PREFIX.length))
  if (given === undefined) return refused('signature_malformed')
  const expected = secrets.map((secret) => hmacSha256(secret, `v0:${time}:`, body))
  if (!anyMatches(expected, [given])) return refused('signature_mismatch')
  if (!withinSeconds(seconds, now_ms, SIGNATURE_TOLERANCE_SECONDS)) {
    return refused('timestamp_out_of_tolerance')
  }
  // The time is signed but stands outside of the body, so the hash is the same at every retry.
  const external_id = usableId(fieldsOf(parseJson(body)).event_id) ?? bodyHash(body)
  return { ok: true, detail: 'hmac-sha256 ok', external_id }
}

const CHALLENGE_MAX_CHARS = 1_024

export const slack: Source = {
  trust_mode: 'signed',
  verify,
  describe: ({ json }) => {
    const fields = fieldsOf(json)
    const event = eventType(fieldsOf(fields.event).type) ?? eventType(fields.type)
    return {
      ...(event === undefined ? {} : { event_type: event }),
      title: selfManagedTitle('slack'),
    }
  },
  checkSecret: checkWordSecret,
  handshake: (json) => {
    const { type, challenge } = fieldsOf(json)
    if (type !== 'url_verification' || typeof challenge !== 'string') return undefined
    return { challenge: challenge.slice(0, CHALLENGE_MAX_CHARS) }
  },
}
