import { test } from 'tap'
import { check } from './checker.ts'
import { Story } from './story.ts'
import type { Rule } from './violation.ts'

/** A rule on histories that break it, and on their nearest neighbours that do not. */
interface RuleCases {
  readonly rule: Rule
  readonly breaks: Readonly<Record<string, (s: Story) => void>>
  readonly keeps: Readonly<Record<string, (s: Story) => void>>
}

/** The rules that a history breaks, in alphabetical order. */
export const rulesBrokenBy = (tell: (s: Story) => void): Rule[] => {
  const s = new Story()
  tell(s)
  return [...new Set(check(s.lines).map((violation) => violation.rule))].sort()
}

export const testRules = (cases: readonly RuleCases[]): void => {
  for (const { rule, breaks, keeps } of cases) {
    void test(rule, async (t) => {
      for (const [name, tell] of Object.entries(breaks)) {
        t.strictSame(rulesBrokenBy(tell), [rule], name)
      }
      for (const [name, tell] of Object.entries(keeps)) t.strictSame(rulesBrokenBy(tell), [], name)
    })
  }
}
