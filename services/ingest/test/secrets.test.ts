import type { SourceType } from '@guildhall/contracts'
import t from 'tap'
import { sources } from '../src/sources/index.ts'

const HEX32 = '8f742231b10e8888abcd99ff00aa85a5'
const STANDARD = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const wellFormed: readonly [SourceType, string][] = [
  ['github', "It's a Secret to Everybody"],
  ['gitea', 'whsec_roundtripsecret'],
  ['gitlab', STANDARD],
  ['stripe', 'whsec_test_secret'],
  ['slack', HEX32],
  ['linear', 'lin_wh_0123456789abcdef'],
  ['standard', STANDARD],
  ['standard', STANDARD.slice('whsec_'.length)],
]

const malformed: readonly [SourceType, string, string][] = [
  ['github', '', 'it is empty'],
  ['github', '    ', 'it is empty'],
  ['github', ' padded-secret', 'it begins or ends with white space'],
  ['github', 'line\nbreak-secret', 'it holds control characters'],
  ['gitea', 'short', 'it is shorter than 8 characters'],
  ['slack', 'two words here', 'it is not one word'],
  ['linear', '', 'it is empty'],
  ['stripe', 'sk_live_0123456789', 'a signing secret of Stripe begins with "whsec_"'],
  ['standard', 'whsec_', 'it is not "whsec_" and the base64 of 24 to 64 bytes'],
  ['standard', 'whsec_c2hvcnQ=', 'it is not "whsec_" and the base64 of 24 to 64 bytes'],
  ['standard', 'whsec_not base64 at all !!', 'it is not "whsec_" and the base64 of 24 to 64 bytes'],
  ['generic', 'anything-goes', 'a generic webhook has no secret: its URL is the credential'],
]

t.test('a well-formed secret is taken', async (t) => {
  for (const [source, secret] of wellFormed) {
    t.equal(sources[source].checkSecret(secret), undefined, `${source} ${secret}`)
  }
})

t.test('a malformed secret is refused with what is wrong with it', async (t) => {
  for (const [source, secret, problem] of malformed) {
    t.equal(sources[source].checkSecret(secret), problem, `${source} ${JSON.stringify(secret)}`)
  }
})

t.test('only senders that take our secret get one, and no two are alike', async (t) => {
  const minting = Object.entries(sources).filter(([, source]) => source.mint !== undefined)
  t.strictSame(
    minting.map(([name]) => name),
    ['github', 'gitea', 'gitlab', 'standard'],
  )
  for (const [name, source] of minting) {
    const [one = '', other = ''] = [source.mint?.(), source.mint?.()]
    t.not(one, other, name)
    t.equal(source.checkSecret(one), undefined, name)
    t.ok(Buffer.from(one.slice('whsec_'.length), 'base64').length >= 32, name)
  }
})
