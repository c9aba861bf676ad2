import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { toCalls } from './calls.ts'
import { openHistory, readHistory } from './history.ts'

const call = { actor: 'a', name: 'claim_next', to: 'gateway', input: { queue: 'inbox' } }

test('what was recorded is read back from the file', async (t) => {
  const history = openHistory(`${t.testdir()}/h.jsonl`)
  await history.record(call, async () => ({ kind: 'ok', value: { empty: true } }))
  history.fault('kill -9 tasks-0', 'begin')
  history.close()
  const lines = readHistory(history.file)
  t.strictSame(
    lines.map(({ t: _t, wall: _wall, ...line }) => line),
    [
      { kind: 'call', n: 1, ...call },
      { kind: 'answer', n: 1, outcome: { kind: 'ok', value: { empty: true } } },
      { kind: 'fault', what: 'kill -9 tasks-0', phase: 'begin' },
    ],
  )
})

test('a call is in the file before its answer, and without one its outcome is unknown', async (t) => {
  const history = openHistory(`${t.testdir()}/h.jsonl`)
  let seen = ''
  await history.record(call, async () => {
    seen = readFileSync(history.file, 'utf8')
    return { kind: 'ok', value: {} }
  })
  history.close()
  const lines = readHistory(history.file)
  t.equal(seen.trim().split('\n').length, 1)
  const [unanswered] = toCalls(lines.slice(0, 1)).calls
  t.equal(unanswered?.outcome.kind, 'unknown')
  t.equal(unanswered?.answered_at, Number.POSITIVE_INFINITY)
})

test('an answer that comes after the end is no part of the history', async (t) => {
  const history = openHistory(`${t.testdir()}/h.jsonl`)
  await history.record(call, async () => {
    history.close()
    return { kind: 'ok', value: {} }
  })
  t.equal(readHistory(history.file).length, 1)
})

test('a wall clock that was set during the run is noticed', async (t) => {
  const { clock_step_ms } = toCalls([
    { kind: 'mark', t: 0, wall: 1_000, mark: 'begin', note: '' },
    { kind: 'mark', t: 500, wall: 1_200, mark: 'end', note: '' },
  ])
  t.equal(clock_step_ms, 300)
})
