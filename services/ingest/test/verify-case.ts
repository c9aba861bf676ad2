import { createHmac } from 'node:crypto'
import { type SourceType, sha256Hex } from '@guildhall/contracts'
import t from 'tap'
import { sources } from '../src/sources/index.ts'
import type { RefusalReason, RequestHeaders, Verdict } from '../src/sources/source.ts'

/** A table of requests and what verification says to each. All of it pure. */

export type Case = readonly [
  name: string,
  headers: RequestHeaders,
  expected: Verdict | RefusalReason,
]

export interface Table {
  readonly source: SourceType
  readonly secrets: readonly string[]
  readonly body: string
  readonly now_s?: number
  readonly cases: readonly Case[]
}

export const NOW_S = 1_700_000_000

export const run = (name: string, { source, secrets, body, now_s = NOW_S, cases }: Table) =>
  t.test(name, async (t) => {
    for (const [title, headers, expected] of cases) {
      const verdict = sources[source].verify({
        headers,
        secrets,
        body: Buffer.from(body),
        now_ms: now_s * 1_000,
      })
      const wanted = typeof expected === 'string' ? { ok: false, reason: expected } : expected
      t.strictSame(verdict, wanted, title)
    }
  })

export const hmac = (secret: string | Uint8Array, text: string) =>
  createHmac('sha256', secret).update(text)
export const hex = (secret: string | Uint8Array, text: string): string =>
  hmac(secret, text).digest('hex')
export const hashOf = (body: string): string => `sha256:${sha256Hex(body)}`
export const ok = (external_id: string, detail = 'hmac-sha256 ok'): Verdict => ({
  ok: true,
  detail,
  external_id,
})
