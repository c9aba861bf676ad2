import type { RefusalReason, RequestHeaders, Verdict } from '../src/sources/source.ts'
import { type Case, hashOf, hex, hmac, NOW_S, ok, run, type Table } from './verify-case.ts'

/** Published vectors, and every way in which a signature can be wrong. */

const G1 = '0e159391958bd0e68fa8717a0e29a5e2ae1bb076050a355810d3ed5be98075f6'
const G1_BODY = '{"action":"opened","number":7}'
const G2 = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
const hub = (value: string): RequestHeaders => ({ 'x-hub-signature-256': value })

void run('G1 a GitHub signature', {
  source: 'github',
  secrets: ['whsec_roundtripsecret'],
  body: G1_BODY,
  cases: [
    ['accepted', hub(`sha256=${G1}`), ok(hashOf(G1_BODY))],
    [
      'another delivery id changes nothing',
      { ...hub(`sha256=${G1}`), 'x-github-delivery': 'guid-2' },
      ok(hashOf(G1_BODY)),
    ],
    ['missing header', {}, 'signature_missing'],
    ['only the old SHA-1 header', { 'x-hub-signature': `sha1=${G1}` }, 'signature_missing'],
    ['no prefix', hub(G1), 'signature_malformed'],
    ['prefix of another hash', hub(`sha1=${G1}`), 'signature_malformed'],
    ['bad hex', hub(`sha256=${G1.slice(0, -1)}g`), 'signature_malformed'],
    ['short hex', hub(`sha256=${G1.slice(2)}`), 'signature_malformed'],
    ['empty', hub(''), 'signature_malformed'],
    ['sent twice', hub(`sha256=${G1}, sha256=${G1}`), 'signature_malformed'],
    ['wrong secret', hub(`sha256=${hex('other', G1_BODY)}`), 'signature_mismatch'],
    ['tampered body', hub(`sha256=${hex('whsec_roundtripsecret', '{}')}`), 'signature_mismatch'],
  ],
})

void run('G2 a GitHub signature over what is not JSON', {
  source: 'github',
  secrets: ["It's a Secret to Everybody"],
  body: 'Hello, World!',
  cases: [['accepted', hub(`sha256=${G2}`), ok(hashOf('Hello, World!'))]],
})

void run('during a rotation either secret is accepted', {
  source: 'github',
  secrets: ['whsec_the_new_secret', 'whsec_roundtripsecret'],
  body: G1_BODY,
  cases: [
    ['the old one', hub(`sha256=${G1}`), ok(hashOf(G1_BODY))],
    ['the new one', hub(`sha256=${hex('whsec_the_new_secret', G1_BODY)}`), ok(hashOf(G1_BODY))],
  ],
})

void run('no secret accepts nothing', {
  source: 'github',
  secrets: [],
  body: G1_BODY,
  cases: [
    ['a signature with the empty key', hub(`sha256=${hex('', G1_BODY)}`), 'signature_mismatch'],
  ],
})

void run('E1 a Gitea or Forgejo signature', {
  source: 'gitea',
  secrets: ['whsec_roundtripsecret'],
  body: G1_BODY,
  cases: [
    ['accepted', { 'x-gitea-signature': G1 }, ok(hashOf(G1_BODY))],
    ['accepted as Forgejo', { 'x-forgejo-signature': G1 }, ok(hashOf(G1_BODY))],
    ['GitHub header alone', hub(`sha256=${G1}`), ok(hashOf(G1_BODY))],
    [
      'a bad own header is not rescued',
      { 'x-gitea-signature': G2, ...hub(`sha256=${G1}`) },
      'signature_mismatch',
    ],
    ['missing header', {}, 'signature_missing'],
    ['with a prefix', { 'x-gitea-signature': `sha256=${G1}` }, 'signature_malformed'],
    ['bad hex', { 'x-gitea-signature': 'zz' }, 'signature_malformed'],
    ['wrong secret', { 'x-gitea-signature': hex('other', G1_BODY) }, 'signature_mismatch'],
    [
      'tampered body',
      { 'x-gitea-signature': hex('whsec_roundtripsecret', '{}') },
      'signature_mismatch',
    ],
  ],
})

const S_BODY = '{"id":"evt_123","type":"invoice.paid"}'
const S1 = '2121f26c2b3de38ca17986799b7c107c27471b8a60d90d88f3a0d16d36fcc5b0'
const S2 = 'd18828e8d6525b050b6eb7b72c18ff9341e7e9101dc3a5260135c813516f731f'
const S3 = '5bf3aefa112e0642743500067d8490d4beea487d2925eae9a92814cda0a7226d'
const S4 = '96e54393bdd1956fbe2ab227870d53602e5b88fb8cba8ef29d3ef7c1d40fd2d8'
const S5 = '37cfc86962fd4c006c349751d8ebe9756daa25e6a3621ef53acc4e905e0ffa95'
const stripe = (value: string): RequestHeaders => ({ 'stripe-signature': value })
const wrong = 'ab'.repeat(32)
const stripeAt = (time: string | number): RequestHeaders =>
  stripe(`t=${time},v1=${hex('whsec_test_secret', `${time}.${S_BODY}`)}`)

void run('S1 to S5 a Stripe signature', {
  source: 'stripe',
  secrets: ['whsec_test_secret'],
  body: S_BODY,
  cases: [
    ['S1 accepted', stripe(`t=1699999940,v1=${S1}`), ok('evt_123')],
    ['S2 400 s old', stripe(`t=1699999600,v1=${S2}`), 'timestamp_out_of_tolerance'],
    ['S3 400 s ahead', stripe(`t=1700000400,v1=${S3}`), 'timestamp_out_of_tolerance'],
    ['S4 exactly 300 s old', stripe(`t=1699999700,v1=${S4}`), ok('evt_123')],
    ['S5 301 s old', stripe(`t=1699999699,v1=${S5}`), 'timestamp_out_of_tolerance'],
    ['exactly 300 s ahead', stripeAt(NOW_S + 300), ok('evt_123')],
    ['301 s ahead', stripeAt(NOW_S + 301), 'timestamp_out_of_tolerance'],
    ['second of two v1', stripe(`t=1699999940,v1=${wrong},v1=${S1}`), ok('evt_123')],
    ['a malformed v1 beside a good one', stripe(`t=1699999940,v1=zz,v1=${S1}`), ok('evt_123')],
    ['v0 beside v1', stripe(`t=1699999940,v1=${S1},v0=${wrong}`), ok('evt_123')],
    ['only v0', stripe(`t=1699999940,v0=${S1}`), 'signature_missing'],
    ['missing header', {}, 'signature_missing'],
    ['missing t', stripe(`v1=${S1}`), 'timestamp_missing'],
    ['missing v1', stripe('t=1699999940'), 'signature_missing'],
    ['t is no number', stripe(`t=soon,v1=${S1}`), 'timestamp_malformed'],
    ['t is negative', stripe(`t=-1699999940,v1=${S1}`), 'timestamp_malformed'],
    ['t is zero', stripeAt(0), 'timestamp_malformed'],
    ['t has a fraction', stripeAt('1699999940.5'), 'timestamp_malformed'],
    ['two times', stripe(`t=1699999940,t=1699999941,v1=${S1}`), 'timestamp_malformed'],
    ['another time than was signed', stripe(`t=1699999941,v1=${S1}`), 'signature_mismatch'],
    ['bad hex', stripe('t=1699999940,v1=zz'), 'signature_malformed'],
    [
      'wrong secret',
      stripe(`t=1699999940,v1=${hex('whsec_other', `1699999940.${S_BODY}`)}`),
      'signature_mismatch',
    ],
    [
      'tampered body',
      stripe(`t=1699999940,v1=${hex('whsec_test_secret', '1699999940.{}')}`),
      'signature_mismatch',
    ],
  ],
})

const K_BODY = '{"type":"event_callback","event_id":"Ev123","event":{"type":"app_mention"}}'
const K1 = '36bdbf0bc6b33c3007f731b22ab4b8ab58d71ef1804a27ca35dc59b87ba80c0c'
const slack = (time: string | number | undefined, signature?: string): RequestHeaders => ({
  ...(time === undefined ? {} : { 'x-slack-request-timestamp': String(time) }),
  ...(signature === undefined ? {} : { 'x-slack-signature': signature }),
})
const slackAt = (time: string | number): RequestHeaders =>
  slack(time, `v0=${hex('slack_signing_secret', `v0:${time}:${K_BODY}`)}`)

void run('K1 a Slack signature', {
  source: 'slack',
  secrets: ['slack_signing_secret'],
  body: K_BODY,
  cases: [
    ['accepted', slack(1_699_999_940, `v0=${K1}`), ok('Ev123')],
    ['exactly 300 s old', slackAt(NOW_S - 300), ok('Ev123')],
    ['301 s old', slackAt(NOW_S - 301), 'timestamp_out_of_tolerance'],
    ['exactly 300 s ahead', slackAt(NOW_S + 300), ok('Ev123')],
    ['301 s ahead', slackAt(NOW_S + 301), 'timestamp_out_of_tolerance'],
    ['missing signature', slack(1_699_999_940), 'signature_missing'],
    ['missing time', slack(undefined, `v0=${K1}`), 'timestamp_missing'],
    ['time is no number', slack('now', `v0=${K1}`), 'timestamp_malformed'],
    ['time is negative', slackAt(-5), 'timestamp_malformed'],
    ['no prefix', slack(1_699_999_940, K1), 'signature_malformed'],
    ['another version', slack(1_699_999_940, `v1=${K1}`), 'signature_malformed'],
    ['bad hex', slack(1_699_999_940, 'v0=zz'), 'signature_malformed'],
    ['another time than was signed', slack(1_699_999_941, `v0=${K1}`), 'signature_mismatch'],
    [
      'wrong secret',
      slack(1_699_999_940, `v0=${hex('other', `v0:1699999940:${K_BODY}`)}`),
      'signature_mismatch',
    ],
    [
      'tampered body',
      slack(1_699_999_940, `v0=${hex('slack_signing_secret', 'v0:1699999940:{}')}`),
      'signature_mismatch',
    ],
  ],
})

const K2_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'

void run("K2 Slack's documented slash command", {
  source: 'slack',
  secrets: ['8f742231b10e8888abcd99yyyzzz85a5'],
  body: K2_BODY,
  now_s: 1_531_420_618,
  cases: [
    [
      'accepted, named by its body',
      slack(1_531_420_618, 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'),
      ok(hashOf(K2_BODY)),
    ],
  ],
})

const W1_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const W1_KEY = Buffer.from(W1_SECRET.slice(6), 'base64')
const W1_ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const W1_TIME = 1_614_265_330
const W1_BODY = '{"test": 2432232314}'
const W1 = 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
const standard = (fields: RequestHeaders): RequestHeaders =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [`webhook-${name}`, value]))
const signedAt = (time: string | number, id = W1_ID): RequestHeaders =>
  standard({
    id,
    timestamp: String(time),
    signature: `v1,${hmac(W1_KEY, `${id}.${time}.${W1_BODY}`).digest('base64')}`,
  })
const w1 = standard({ id: W1_ID, timestamp: String(W1_TIME), signature: `v1,${W1}` })
const standardOk = ok(W1_ID, 'standard webhooks v1 ok')
const standardCases: readonly Case[] = [
  ['accepted', w1, standardOk],
  ['exactly 300 s old', signedAt(W1_TIME - 300), standardOk],
  ['301 s old', signedAt(W1_TIME - 301), 'timestamp_out_of_tolerance'],
  ['exactly 300 s ahead', signedAt(W1_TIME + 300), standardOk],
  ['301 s ahead', signedAt(W1_TIME + 301), 'timestamp_out_of_tolerance'],
  [
    'second of two v1',
    { ...w1, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1,${W1}` },
    standardOk,
  ],
  [
    'an asymmetric signature beside it',
    { ...w1, 'webhook-signature': `v1a,x v1,${W1}` },
    standardOk,
  ],
  ['only another version', { ...w1, 'webhook-signature': `v0,${W1}` }, 'signature_malformed'],
  ['no version', { ...w1, 'webhook-signature': W1 }, 'signature_malformed'],
  ['bad base64', { ...w1, 'webhook-signature': 'v1,%%%' }, 'signature_malformed'],
  ['another id than was signed', { ...w1, 'webhook-id': 'msg_other' }, 'signature_mismatch'],
  [
    'another time than was signed',
    { ...w1, 'webhook-timestamp': '1614265331' },
    'signature_mismatch',
  ],
  ['time is no number', { ...w1, 'webhook-timestamp': 'now' }, 'timestamp_malformed'],
  ['time is negative', signedAt(-1), 'timestamp_malformed'],
  ['id is too long', signedAt(W1_TIME, 'm'.repeat(257)), 'id_malformed'],
  ['id has a space', signedAt(W1_TIME, 'a b'), 'id_malformed'],
  [
    'wrong secret',
    {
      ...w1,
      'webhook-signature': `v1,${hmac('other', `${W1_ID}.${W1_TIME}.${W1_BODY}`).digest('base64')}`,
    },
    'signature_mismatch',
  ],
  [
    'tampered body',
    { ...w1, 'webhook-signature': `v1,${hmac(W1_KEY, `${W1_ID}.${W1_TIME}.{}`).digest('base64')}` },
    'signature_mismatch',
  ],
]
const without = (name: string): RequestHeaders =>
  Object.fromEntries(Object.entries(w1).filter(([key]) => key !== name))

void run('W1 a signature of Standard Webhooks', {
  source: 'standard',
  secrets: [W1_SECRET],
  body: W1_BODY,
  now_s: W1_TIME,
  cases: [
    ...standardCases,
    ['missing signature', without('webhook-signature'), 'signature_missing'],
    ['missing id', without('webhook-id'), 'id_missing'],
    ['missing time', without('webhook-timestamp'), 'timestamp_missing'],
  ],
})

void run('W1 the same from GitLab with a signing token', {
  source: 'gitlab',
  secrets: [W1_SECRET],
  body: W1_BODY,
  now_s: W1_TIME,
  cases: [
    ...standardCases,
    [
      'a bad signature is not rescued by the token',
      { ...w1, 'webhook-signature': 'v1,%%%', 'x-gitlab-token': W1_SECRET },
      'signature_malformed',
    ],
  ],
})

void run('a GitLab secret token', {
  source: 'gitlab',
  secrets: ['gl-secret-é', W1_SECRET],
  body: '{"object_kind":"push"}',
  cases: [
    [
      'accepted, named by its body',
      { 'x-gitlab-token': Buffer.from('gl-secret-é').toString('latin1') },
      ok(hashOf('{"object_kind":"push"}'), 'secret token ok'),
    ],
    [
      'a minted secret accepted as a token',
      { 'x-gitlab-token': W1_SECRET },
      ok(hashOf('{"object_kind":"push"}'), 'secret token ok'),
    ],
    ['missing header', {}, 'signature_missing'],
    ['empty', { 'x-gitlab-token': '' }, 'signature_mismatch'],
    ['wrong', { 'x-gitlab-token': 'gl-secret-' }, 'signature_mismatch'],
  ],
})

const linearBody = (fields: object): string =>
  JSON.stringify({
    action: 'create',
    type: 'Issue',
    webhookId: 'hook',
    data: { id: 'x' },
    ...fields,
  })
const linearSigned = (body: string): RequestHeaders => ({
  'linear-signature': hex('lin_wh_secret', body),
})
const LINEAR_REST = linearBody({})
const linearTable = (webhookTimestamp: unknown, expected: Verdict | RefusalReason): Table => {
  const body = linearBody({ webhookTimestamp })
  const cases: Case[] = [['signed', linearSigned(body), expected]]
  return { source: 'linear', secrets: ['lin_wh_secret'], body, cases }
}
const NOW_MS = NOW_S * 1_000
const linearOk = ok(hashOf(LINEAR_REST))
void run('Linear: now', linearTable(NOW_MS, linearOk))
void run(
  'Linear: a retry with another time is the same delivery',
  linearTable(NOW_MS - 9_000, linearOk),
)
void run('Linear: exactly 60 s old', linearTable(NOW_MS - 60_000, linearOk))
void run('Linear: 60 s and 1 ms old', linearTable(NOW_MS - 60_001, 'timestamp_out_of_tolerance'))
void run('Linear: exactly 60 s ahead', linearTable(NOW_MS + 60_000, linearOk))
void run('Linear: 60 s and 1 ms ahead', linearTable(NOW_MS + 60_001, 'timestamp_out_of_tolerance'))
void run('Linear: no time', linearTable(undefined, 'timestamp_missing'))
void run('Linear: the time is text', linearTable(String(NOW_MS), 'timestamp_malformed'))
void run('Linear: the time is negative', linearTable(-1, 'timestamp_malformed'))

const LINEAR_BODY = linearBody({ webhookTimestamp: NOW_MS })
void run('Linear: bad signatures', {
  source: 'linear',
  secrets: ['lin_wh_secret'],
  body: LINEAR_BODY,
  cases: [
    ['missing header', {}, 'signature_missing'],
    ['bad hex', { 'linear-signature': 'zz' }, 'signature_malformed'],
    ['wrong secret', { 'linear-signature': hex('other', LINEAR_BODY) }, 'signature_mismatch'],
    ['tampered body', linearSigned('{}'), 'signature_mismatch'],
    [
      'a fresh time in the unsigned header is not looked at',
      { ...linearSigned('{}'), 'linear-timestamp': String(NOW_MS) },
      'signature_mismatch',
    ],
  ],
})

void run('an id in a signed body that cannot be used is passed over', {
  source: 'stripe',
  secrets: ['whsec_test_secret'],
  body: '{"id":"a b\\u0000"}',
  cases: [
    [
      'named by its body',
      stripe(`t=${NOW_S},v1=${hex('whsec_test_secret', `${NOW_S}.{"id":"a b\\u0000"}`)}`),
      ok(hashOf('{"id":"a b\\u0000"}')),
    ],
  ],
})
