import { SIGNATURE_TOLERANCE_SECONDS } from '@guildhall/contracts'
import { eventType, fieldsOf, selfManagedTitle } from './description.ts'
import { mintStandardSecret, standardKey } from './secrets.ts'
import {
  anyMatches,
  hmacSha256,
  readBase64Digest,
  readUnixSeconds,
  usableId,
  withinSeconds,
} from './signature.ts'
import { refused, type Source, type Verdict, type VerifyInput } from './source.ts'

const SIGNATURES_MAX = 16

const readSignatures = (header: string): Buffer[] =>
  header
    .split(' ')
    .slice(0, SIGNATURES_MAX)
    .filter((entry) => entry.startsWith('v1,'))
    .map((entry) => readBase64Digest(entry.slice('v1,'.length)))
    .filter((digest) => digest !== undefined)

/**
 * Standard Webhooks (https://www.standardwebhooks.com): id, time and body are signed, so the id
 * names the delivery. `keyOf` differs for senders that also allow other forms of the secret.
 */
export const verifyStandard = (
  { headers, body, secrets, now_ms }: VerifyInput,
  keyOf: (secret: string) => Uint8Array | undefined = standardKey,
): Verdict => {
  const header = headers['webhook-signature']
  if (header === undefined) return refused('signature_missing')
  if (headers['webhook-id'] === undefined) return refused('id_missing')
  const id = usableId(headers['webhook-id'])
  if (id === undefined) return refused('id_malformed')
  const time = headers['webhook-timestamp']
  if (time === undefined) return refused('timestamp_missing')
  const seconds = readUnixSeconds(time)
  if (seconds === undefined) return refused('timestamp_malformed')
  const given = readSignatures(header)
  if (given.length === 0) return refused('signature_malformed')
  const keys = secrets.map(keyOf).filter((key) => key !== undefined)
  const expected = keys.map((key) => hmacSha256(key, `${id}.${time}.`, body))
  if (!anyMatches(expected, given)) return refused('signature_mismatch')
  if (!withinSeconds(seconds, now_ms, SIGNATURE_TOLERANCE_SECONDS)) {
    return refused('timestamp_out_of_tolerance')
  }
  return { ok: true, detail: 'standard webhooks v1 ok', external_id: id }
}

export const standard: Source = {
  trust_mode: 'signed',
  verify: (input) => verifyStandard(input),
  describe: ({ json }) => {
    const event = eventType(fieldsOf(json).type)
    return {
      ...(event === undefined ? {} : { event_type: event }),
      title: selfManagedTitle('standard'),
    }
  },
  checkSecret: (secret) =>
    standardKey(secret) === undefined
      ? 'it is not "whsec_" and the base64 of 24 to 64 bytes'
      : undefined,
  mint: mintStandardSecret,
}
