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

const ENTRIES_MAX = 16

interface StripeSignature {
  readonly times: readonly string[]
  readonly v1: readonly string[]
}

const readHeader = (header: string): StripeSignature => {
  const entries = header.split(',').slice(0, ENTRIES_MAX)
  const valuesOf = (scheme: string): string[] =>
    entries
      .map((entry) => entry.trim())
      .filter((entry) => entry.startsWith(`${scheme}=`))
      .map((entry) => entry.slice(scheme.length + 1))
  return { times: valuesOf('t'), v1: valuesOf('v1') }
}

/** `t=<unix>,v1=<hex>[,v1=<hex>]` over `t.body`; other schemes are ignored, any v1 will do. */
const verify = ({ headers, body, secrets, now_ms }: VerifyInput): Verdict => {
  const header = headers['stripe-signature']
  if (header === undefined) return refused('signature_missing')
  const { times, v1 } = readHeader(header)
  const [time] = times
  if (time === undefined) return refused('timestamp_missing')
  const seconds = readUnixSeconds(time)
  if (seconds === undefined || times.length > 1) return refused('timestamp_malformed')
  if (v1.length === 0) return refused('signature_missing')
  const given = v1.map(readHexDigest).filter((digest) => digest !== undefined)
  if (given.length === 0) return refused('signature_malformed')
  const expected = secrets.map((secret) => hmacSha256(secret, `${time}.`, body))
  if (!anyMatches(expected, given)) return refused('signature_mismatch')
  if (!withinSeconds(seconds, now_ms, SIGNATURE_TOLERANCE_SECONDS)) {
    return refused('timestamp_out_of_tolerance')
  }
  // A retry is signed anew with another time; the event's own id stays.
  const external_id = usableId(fieldsOf(parseJson(body)).id) ?? bodyHash(body)
  return { ok: true, detail: 'hmac-sha256 ok', external_id }
}

export const stripe: Source = {
  trust_mode: 'signed',
  verify,
  describe: ({ json }) => {
    const event = eventType(fieldsOf(json).type)
    return {
      ...(event === undefined ? {} : { event_type: event }),
      title: selfManagedTitle('stripe'),
    }
  },
  checkSecret: (secret) =>
    checkWordSecret(secret) ??
    (secret.startsWith('whsec_') ? undefined : 'a signing secret of Stripe begins with "whsec_"'),
}
