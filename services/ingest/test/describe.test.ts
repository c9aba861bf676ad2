import { type SourceType, TITLE_MAX_CHARS } from '@guildhall/contracts'
import t from 'tap'
import { sources } from '../src/sources/index.ts'
import type { Description, RequestHeaders } from '../src/sources/source.ts'

const repository = { full_name: 'octo/repo' }
const cases: readonly [string, SourceType, RequestHeaders, unknown, Description][] = [
  [
    'a pull request',
    'github',
    { 'x-github-event': 'pull_request' },
    { action: 'opened', pull_request: { number: 7, title: 'Fix the roof' }, repository },
    { event_type: 'pull_request', title: 'PR #7 opened in octo/repo — Fix the roof' },
  ],
  [
    'a comment on an issue',
    'gitea',
    { 'x-gitea-event': 'issue_comment', 'x-github-event': 'issue_comment' },
    { action: 'created', issue: { number: 3, title: 'It rains in' }, repository },
    { event_type: 'issue_comment', title: 'Issue #3 created in octo/repo — It rains in' },
  ],
  [
    'a push',
    'github',
    { 'x-github-event': 'push' },
    { repository },
    { event_type: 'push', title: 'github push in octo/repo' },
  ],
  ['nothing known', 'github', {}, undefined, { title: 'github event' }],
  [
    'a merge request',
    'gitlab',
    { 'x-gitlab-event': 'Merge Request Hook' },
    {
      object_kind: 'merge_request',
      object_attributes: { iid: 4, action: 'open', title: 'Slates' },
      project: { path_with_namespace: 'guild/roof' },
    },
    { event_type: 'Merge Request Hook', title: 'MR #4 open in guild/roof — Slates' },
  ],
  [
    'Stripe',
    'stripe',
    {},
    { id: 'evt_1', type: 'invoice.paid' },
    { event_type: 'invoice.paid', title: 'self-managed stripe delivery' },
  ],
  [
    'Slack',
    'slack',
    {},
    { type: 'event_callback', event: { type: 'app_mention' } },
    { event_type: 'app_mention', title: 'self-managed slack delivery' },
  ],
  [
    'Linear',
    'linear',
    {},
    { type: 'Issue', action: 'create', data: { identifier: 'ENG-5', title: 'Roof' } },
    { event_type: 'Issue', title: 'linear Issue create ENG-5 — Roof' },
  ],
  ['generic', 'generic', {}, { hello: 1 }, { title: 'self-managed generic delivery' }],
  [
    'generic with the event header of a forge',
    'generic',
    { 'x-github-event': 'pull_request' },
    { action: 'opened', pull_request: { number: 7, title: 'Fix' }, repository },
    { event_type: 'pull_request', title: 'PR #7 opened in octo/repo — Fix' },
  ],
  [
    'a title on several lines, with controls, becomes one',
    'github',
    { 'x-github-event': 'issues' },
    { action: 'opened', issue: { number: 1, title: 'a\r\nb\u0000\u2028c' } },
    { event_type: 'issues', title: 'Issue #1 opened — a b c' },
  ],
  [
    'fields of other types are left out',
    'github',
    { 'x-github-event': 'issues' },
    { action: {}, issue: { number: 1, title: ['x'] }, repository: 'octo' },
    { event_type: 'issues', title: 'Issue #1' },
  ],
]

t.test('the title and type of an event', async (t) => {
  for (const [name, source, headers, json, expected] of cases) {
    t.strictSame(sources[source].describe({ headers, json }), expected, name)
  }
})

t.test('a title has an end, and never half a character at it', async (t) => {
  const json = { issue: { number: 1, title: '😀'.repeat(5_000) } }
  const { title } = sources.github.describe({ headers: {}, json })
  t.ok(title.length <= TITLE_MAX_CHARS)
  t.equal(Buffer.from(title).toString(), title)
})

t.test('only a challenge of Slack is a handshake', async (t) => {
  const ask = (json: unknown) => sources.slack.handshake?.(json)
  t.strictSame(ask({ type: 'url_verification', challenge: 'abc' }), { challenge: 'abc' })
  t.equal(ask({ type: 'url_verification' }), undefined)
  t.equal(ask({ type: 'event_callback', challenge: 'abc' }), undefined)
  t.equal(ask(undefined), undefined)
})
