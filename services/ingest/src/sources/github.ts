import { describeForge } from './forge.ts'
import { checkFreeSecret, mintLiteralSecret } from './secrets.ts'
import { anyMatches, bodyHash, hmacSha256, readHexDigest } from './signature.ts'
import { refused, type Source, type Verdict, type VerifyInput } from './source.ts'

const PREFIX = 'sha256='

/**
 * Checks `X-Hub-Signature-256`. The delivery id in `X-GitHub-Delivery` is not signed, and neither
 * is any time: only the body tells one delivery from another.
 */
export const verifyHubSignature = ({ headers, body, secrets }: VerifyInput): Verdict => {
  const header = headers['x-hub-signature-256']
  if (header === undefined) return refused('signature_missing')
  if (!header.startsWith(PREFIX)) return refused('signature_malformed')
  const given = readHexDigest(header.slice(PREFIX.length))
  if (given === undefined) return refused('signature_malformed')
  const expected = secrets.map((secret) => hmacSha256(secret, body))
  if (!anyMatches(expected, [given])) return refused('signature_mismatch')
  return { ok: true, detail: 'hmac-sha256 ok', external_id: bodyHash(body) }
}

export const github: Source = {
  trust_mode: 'signed',
  verify: verifyHubSignature,
  describe: (input) => describeForge('github', input),
  checkSecret: checkFreeSecret,
  mint: mintLiteralSecret,
}
