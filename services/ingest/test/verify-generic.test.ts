import type { Verdict } from '../src/sources/source.ts'
import { hashOf, ok, run } from './verify-case.ts'

const tokenOk = (id: string): Verdict => ok(id, 'token in the url')
const H1_BODY = '{"action":"opened"}'
void run('H1 and A8 what names a generic delivery', {
  source: 'generic',
  secrets: [],
  body: H1_BODY,
  cases: [
    [
      'H1 the hash of its body',
      {},
      tokenOk('sha256:d592421cfe150deec6c49b8989cc99478e39c7f8cdd4c36f5b1c4cfeff394e24'),
    ],
    ['X-Delivery-Id, trimmed', { 'x-delivery-id': ' d1\t' }, tokenOk('d1')],
    ['Webhook-Id', { 'webhook-id': 'w1' }, tokenOk('w1')],
    ['the id of a forge', { 'x-github-delivery': 'guid-1' }, tokenOk('guid-1')],
    ['256 bytes', { 'x-delivery-id': 'd'.repeat(256) }, tokenOk('d'.repeat(256))],
    ['257 bytes: the next one', { 'x-delivery-id': 'd'.repeat(257) }, tokenOk(hashOf(H1_BODY))],
    ['blank', { 'x-delivery-id': '  ' }, tokenOk(hashOf(H1_BODY))],
  ],
})
