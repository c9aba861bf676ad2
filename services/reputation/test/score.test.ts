import { QUARANTINE_BELOW } from '@guildhall/contracts'
import t, { type Test } from 'tap'
import {
  addEvidence,
  decay,
  type EvidenceRow,
  isQuarantineDue,
  NO_EVIDENCE,
  scoreAt,
  scoreText,
  sumsAt,
} from '../src/score.ts'

const DAY_MS = 86_400_000
const NOW = 1_000 * DAY_MS

const row = (outcome: number, age_days: number, weight = 1): EvidenceRow => ({
  outcome,
  weight,
  at_ms: NOW - age_days * DAY_MS,
})

const sum = (rows: readonly EvidenceRow[]) => rows.reduce(addEvidence, NO_EVIDENCE)
const score = (rows: readonly EvidenceRow[], prior = 0.5, at_ms = NOW) =>
  scoreAt(prior, sum(rows), at_ms)

/** The formula as it is written down, row by row. */
const naive = (prior: number, rows: readonly EvidenceRow[], at_ms: number): number => {
  let weights = 2
  let outcomes = 2 * prior
  for (const { outcome, weight, at_ms: when } of rows) {
    const decayed = weight * 0.5 ** ((at_ms - when) / (30 * DAY_MS))
    weights += decayed
    outcomes += decayed * outcome
  }
  return outcomes / weights
}

const near = (t: Test, found: number, wanted: number, what: string) =>
  t.ok(Math.abs(found - wanted) < 1e-9, `${what}: ${found} is ${wanted}`)

t.test('scenario 30: 0.9 sixty days ago and 0.4 now weigh 0.625 together', async (t) => {
  const sums = sumsAt(sum([row(0.9, 60), row(0.4, 0)]), NOW)

  near(t, sums.outcome, 0.625, 'the decayed sum')
  near(t, sums.weight, 1.25, 'the decayed weight')
  near(t, scoreAt(0.5, sums, NOW), 0.5, 'the score: (2 x 0.5 + 0.625) / (2 + 1.25)')
})

t.test(
  'scenario 30: without rows 0.5, and outcomes out of bounds count as the bounds',
  async (t) => {
    const five = (outcome: number) => score(Array.from({ length: 5 }, () => row(outcome, 0)))

    t.equal(score([]), 0.5)
    near(t, five(-2), 1 / 7, 'five times -2.0')
    near(t, five(2), 6 / 7, 'five times +2.0')
    t.equal(five(-2), five(0))
    t.equal(five(2), five(1))
  },
)

t.test('the table of scores', async (t) => {
  const cases: [string, number, EvidenceRow[], number][] = [
    ['a first success raises', 0.5, [row(0.7, 0)], 1.7 / 3],
    ['a first rejection lowers', 0.5, [row(0, 0)], 1 / 3],
    ['two rejections', 0.5, [row(0, 0), row(0, 0)], 0.25],
    ['a seed is the prior', 0.56, [], 0.56],
    ['a seed with a success', 0.35, [row(1, 0)], 1.7 / 3],
    ['a row of thirty days is half a row', 0.5, [row(1, 30)], 1.5 / 2.5],
    ['a heavier row', 0.5, [row(0, 0, 2)], 0.25],
    ['a row without weight is none', 0.5, [row(0, 0, 0)], 0.5],
    ['a prior out of bounds', 7, [], 1],
  ]
  for (const [what, prior, rows, wanted] of cases) near(t, score(rows, prior), wanted, what)
})

t.test('nothing that is put in makes NaN or leaves 0..1', async (t) => {
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 1e308, 1e-320]
  for (const prior of odd) {
    for (const outcome of odd) {
      for (const weight of odd) {
        const found = score([row(outcome, 1, weight), row(outcome, 0, weight)], prior)
        t.ok(found >= 0 && found <= 1, `${prior} ${outcome} ${weight}: ${found}`)
      }
    }
  }
})

t.test('idle time leads to the prior, and never below quarantine by itself', async (t) => {
  for (const prior of [0.35, 0.5, 0.8]) {
    for (const outcome of [0, 0.4, 1]) {
      const rows = Array.from({ length: 10 }, () => row(outcome, 0))
      const start = score(rows, prior)
      let distance = Math.abs(start - prior)
      for (let days = 10; days <= 1_000; days += 10) {
        const then = score(rows, prior, NOW + days * DAY_MS)
        t.ok(Math.abs(then - prior) <= distance, `${prior} ${outcome} after ${days} days`)
        t.ok(then >= QUARANTINE_BELOW || start < QUARANTINE_BELOW, 'no lower than it ever was')
        distance = Math.abs(then - prior)
      }
      near(t, score(rows, prior, NOW + 10_000 * DAY_MS), prior, 'at the end')
    }
  }
})

t.test('a hundred successes save nothing up: five rejections show', async (t) => {
  const good = Array.from({ length: 100 }, () => row(1, 300))
  const before = score(good)
  const after = score([...good, ...Array.from({ length: 5 }, () => row(0, 0))])

  t.ok(before < 1)
  t.ok(after < QUARANTINE_BELOW, `${after}`)
})

t.test('quarantine needs a score below 0.3 and three units of weight', async (t) => {
  const hour = 1 / 24
  const cases: [string, EvidenceRow[], boolean][] = [
    ['two rejections', [row(0, 0), row(0, 0)], false],
    ['three rejections', [row(0, 0), row(0, 0), row(0, 0)], true],
    ['three within the hour', [row(0, hour), row(0, hour / 2), row(0, 0)], true],
    ['three in three weeks', [row(0, 21), row(0, 10), row(0, 0)], false],
    ['three that went well', [row(1, 0), row(1, 0), row(1, 0)], false],
    ['four lapses', [row(0.2, 0), row(0.2, 0), row(0.2, 0), row(0.2, 0)], false],
    ['none', [], false],
  ]
  for (const [what, rows, due] of cases) {
    const sums = sumsAt(sum(rows), NOW)
    t.equal(isQuarantineDue(scoreAt(0.5, sums, NOW), sums.weight), due, what)
  }
  t.equal(isQuarantineDue(QUARANTINE_BELOW, 10), false, 'exactly 0.3')
  t.equal(scoreText(0.2999), '0.29')
})

/** Mulberry32: small, and the same on every run. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let x = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
  return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296
}

t.test('the running sums agree with the formula for any rows in any order', async (t) => {
  let worst = 0
  for (let seed = 1; seed <= 500; seed += 1) {
    const random = randomFrom(seed)
    const rows = Array.from({ length: Math.floor(random() * 40) }, () =>
      row(random(), Math.floor(random() * 400), random() * 3),
    )
    const prior = random()
    const later = NOW + Math.floor(random() * 100) * DAY_MS
    const found = score(rows, prior, later)
    worst = Math.max(worst, Math.abs(found - naive(prior, rows, later)))
    const reversed = score([...rows].reverse(), prior, later)
    worst = Math.max(worst, Math.abs(found - reversed))
  }
  t.ok(worst < 1e-9, `differences up to ${worst}`)
})

t.test('decay halves in thirty days and never grows', async (t) => {
  t.equal(decay(30 * DAY_MS), 0.5)
  t.equal(decay(0), 1)
  t.equal(decay(-DAY_MS), 1)
})
