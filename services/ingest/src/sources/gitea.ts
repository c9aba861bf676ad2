import { describeForge } from './forge.ts'
import { verifyHubSignature } from './github.ts'
import { checkFreeSecret, mintLiteralSecret } from './secrets.ts'
import { anyMatches, bodyHash, hmacSha256, readHexDigest } from './signature.ts'
import { refused, type Source, type Verdict, type VerifyInput } from './source.ts'

/** Gitea's own header, and what Forgejo calls it: bare hex over the body. */
const verify = (input: VerifyInput): Verdict => {
  const { headers, body, secrets } = input
  const header = headers['x-gitea-signature'] ?? headers['x-forgejo-signature']
  // Both also send GitHub's header. The first that is there decides: a bad one is not rescued.
  if (header === undefined) return verifyHubSignature(input)
  const given = readHexDigest(header)
  if (given === undefined) return refused('signature_malformed')
  const expected = secrets.map((secret) => hmacSha256(secret, body))
  if (!anyMatches(expected, [given])) return refused('signature_mismatch')
  return { ok: true, detail: 'hmac-sha256 ok', external_id: bodyHash(body) }
}

export const gitea: Source = {
  trust_mode: 'signed',
  verify,
  describe: (input) => describeForge('gitea', input),
  checkSecret: checkFreeSecret,
  mint: mintLiteralSecret,
}
