import { test } from 'tap'
import { rulesBrokenBy, testRules } from './rule-cases.ts'
import { lost, ok, refused, type Story, TODO_ID } from './story.ts'

/** What the checker says of claims and of what is done under them. */

const twoClaims =
  (second: { at: number; took?: number; lease?: number }, first: { lease?: number } = {}) =>
  (s: Story): void => {
    s.claimed({ at: 0, by: 'a', seq: 1, ...first })
    s.claimed({ by: 'b', seq: 2, ...second })
  }

testRules([
  {
    rule: 'two-holders',
    breaks: {
      'the second claim is answered while the first lease runs': twoClaims({ at: 5_000 }),
      'the second claim is over before it is known, inside the first': twoClaims({
        at: 5_000,
        lease: -600_000,
      }),
      'a heartbeat had made the first lease longer': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.act('heartbeat', { at: 1_000, ttl: 10 })
        s.claimed({ at: 5_000, by: 'b', seq: 2 })
      },
      'the first had only tried to heartbeat with a longer lease than it had': (s) => {
        s.claimed({ at: 0, lease: 8_000 })
        s.act('heartbeat', { at: 1_000, ttl: 20, outcome: lost })
        s.claimed({ at: 5_000, by: 'b', seq: 2 })
      },
      'both were asked for and answered at once, with one fence after the other': (s) => {
        s.claimed({ at: 0, by: 'a', seq: 1 })
        s.claimed({ at: 1, by: 'b', seq: 2 })
      },
    },
    keeps: {
      'the first lease is over': twoClaims({ at: 10_000 }),
      'the first lease is over by less than clocks can tell': twoClaims({ at: 9_920 }),
      'the first was released': (s) => {
        s.claimed({ at: 0 })
        s.act('release', { at: 1_000 })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
      },
      'the first may have been released': (s) => {
        s.claimed({ at: 0 })
        s.act('release', { at: 1_000, outcome: lost })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
      },
      'a lost heartbeat may have made the first lease shorter': (s) => {
        s.claimed({ at: 0, lease: 30_000 })
        s.act('heartbeat', { at: 1_000, ttl: 2, outcome: lost })
        s.claimed({ at: 5_000, by: 'b', seq: 2 })
      },
      'a lost heartbeat may arrive after a later one and make the lease shorter': (s) => {
        s.claimed({ at: 0 })
        s.act('heartbeat', { at: 1_000, ttl: 2, outcome: lost })
        s.act('heartbeat', { at: 1_500, ttl: 30 })
        s.claimed({ at: 5_000, by: 'b', seq: 2 })
      },
      'the wall clock was set during the run, so leases cannot be read': (s) => {
        twoClaims({ at: 5_000 })(s)
        s.lines.push({ kind: 'mark', t: 6_000, wall: 0, mark: 'end', note: '' })
      },
    },
  },
  {
    rule: 'holder-refused',
    breaks: {
      'a heartbeat is refused while the lease runs': (s) => {
        s.claimed({ at: 0 })
        s.act('heartbeat', { at: 5_000, ttl: 10, outcome: refused('conflict') })
      },
    },
    keeps: {
      'a heartbeat is refused after the lease': (s) => {
        s.claimed({ at: 0 })
        s.act('heartbeat', { at: 10_000, ttl: 10, outcome: refused('conflict') })
      },
      'the refusal is that of a second try, and the first may have worked': (s) => {
        s.claimed({ at: 0 })
        s.act('complete', { at: 1_000, took: 5_100, outcome: refused('conflict') })
      },
      'an earlier lost call may have ended the claim': (s) => {
        s.claimed({ at: 0 })
        s.act('fail', { at: 1_000, outcome: lost })
        s.act('fail', { at: 2_000, outcome: refused('conflict') })
      },
    },
  },
  {
    rule: 'stale-holder',
    breaks: {
      'a failure works after another took the todo': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.claimed({ at: 3_000, by: 'b', seq: 2 })
        s.act('fail', { at: 4_000 })
      },
      'a release works after another took the todo and gave it back': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.claimed({ at: 3_000, by: 'b', seq: 2 })
        s.act('release', { at: 3_500, by: 'b', seq: 2 })
        s.act('release', { at: 4_000 })
      },
    },
    keeps: {
      'it is refused': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.claimed({ at: 3_000, by: 'b', seq: 2 })
        s.act('complete', { at: 4_000, outcome: refused('conflict') })
      },
      'it works after the lease, but nobody took the todo': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.act('release', { at: 4_000 })
      },
      'it works while the other claim is under way': (s) => {
        s.claimed({ at: 0, lease: 2_000 })
        s.claimed({ at: 3_000, took: 500, by: 'b', seq: 2 })
        s.act('release', { at: 3_400 })
      },
    },
  },
  {
    rule: 'fence-order',
    breaks: {
      'a later claim has a smaller fence': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 1, fence: 20 })
        s.claimed({ at: 2_000, by: 'b', seq: 2, fence: 19 })
      },
      'two claims have one fence': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 1, fence: 20 })
        s.claimed({ at: 2_000, by: 'b', seq: 2, fence: 20 })
      },
    },
    keeps: {
      'fences grow, with gaps': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 1, fence: 20 })
        s.claimed({ at: 2_000, by: 'b', seq: 2, fence: 90 })
      },
    },
  },
  {
    rule: 'fence-changed',
    breaks: {
      'the repeat of a claim has another fence': (s) => {
        s.claimed({ at: 0, key: 'k', fence: 20 })
        s.claimed({ at: 1_000, key: 'k', fence: 21, lease: 9_000 })
      },
    },
    keeps: {
      'the repeat of a claim has the same': (s) => {
        s.claimed({ at: 0, key: 'k', fence: 20 })
        s.claimed({ at: 1_000, key: 'k', fence: 20, lease: 9_000 })
      },
    },
  },
  {
    rule: 'attempt-number',
    breaks: {
      'a number is given to nobody': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 1 })
        s.claimed({ at: 2_000, by: 'b', seq: 3 })
      },
      'a lost claim came too late to explain it': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 1 })
        s.claimed({ at: 2_000, by: 'b', seq: 3 })
        s.claimNext({ at: 3_000, by: 'c', outcome: lost })
      },
      'one lost claim does not explain many': (s) => {
        s.claimNext({ at: 0, by: 'c', outcome: lost })
        s.claimed({ at: 2_000, by: 'b', seq: 4 })
      },
      'a lost claim of another todo does not explain it': (s) => {
        s.call({ at: 0, by: 'c', name: 'claim', input: { id: 'td-2' }, outcome: lost })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
      },
      'numbers go back': (s) => {
        s.claimed({ at: 0, lease: 1_000, seq: 2, fence: 20 })
        s.claimNext({ at: 0, by: 'c', outcome: lost })
        s.claimed({ at: 2_000, by: 'b', seq: 1, fence: 10 })
      },
    },
    keeps: {
      'a lost claim explains it': (s) => {
        s.claimNext({ at: 0, by: 'c', outcome: lost })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
      },
      'a claim that has no answer in the history explains it': (s) => {
        s.call({ at: 0, by: 'c', name: 'claim', input: { id: TODO_ID } })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
      },
      'a claim that took two tries, of which one answered empty, explains it': (s) => {
        s.claimNext({ at: 0, took: 5_001, by: 'c', outcome: ok({ empty: true }) })
        s.claimed({ at: 9_000, by: 'b', seq: 2 })
      },
    },
  },
  {
    rule: 'claimed-again',
    breaks: {
      'the repeat is given another todo while the first is held': (s) => {
        s.claimed({ at: 0, key: 'k' })
        s.claimed({ at: 1_000, key: 'k', todo: 'td-2' })
      },
    },
    keeps: {
      'the first lease is over': (s) => {
        s.claimed({ at: 0, key: 'k', lease: 1_000 })
        s.claimed({ at: 2_000, key: 'k', todo: 'td-2' })
      },
      'the first is done': (s) => {
        s.claimed({ at: 0, key: 'k' })
        s.act('complete', { at: 500 })
        s.claimed({ at: 1_000, key: 'k', todo: 'td-2' })
      },
      'two tries at once, of which neither knew of the other': (s) => {
        s.claimed({ at: 0, key: 'k' })
        s.claimed({ at: 1, key: 'k', todo: 'td-2' })
      },
      'the key is that of somebody else': (s) => {
        s.claimed({ at: 0, key: 'k' })
        s.claimed({ at: 1_000, key: 'k', by: 'b', todo: 'td-2' })
      },
    },
  },
  {
    rule: 'wrong-payload',
    breaks: {
      'the payload is that of another item': (s) => s.claimed({ at: 0, payload: '[w-2]' }),
      'there is none': (s) => s.claimed({ at: 0, payload: [] }),
    },
    keeps: { 'it is its own': (s) => s.claimed({ at: 0 }) },
  },
  {
    rule: 'claimed-when-done',
    breaks: {
      'a claim follows the completion': (s) => {
        s.claimed({ at: 0 })
        s.act('complete', { at: 100 })
        s.claimed({ at: 200, by: 'b', seq: 2 })
      },
    },
    keeps: {
      'a claim follows a completion that was refused': (s) => {
        s.claimed({ at: 0, lease: 1_000 })
        s.act('complete', { at: 1_100, outcome: refused('conflict') })
        s.claimed({ at: 1_200, by: 'b', seq: 2 })
      },
    },
  },
])

test('a todo that is completed under two claims, of which one was stale', async (t) => {
  const twice = rulesBrokenBy((s) => {
    s.claimed({ at: 0, lease: 1_000 })
    s.claimed({ at: 2_000, by: 'b', seq: 2 })
    s.act('complete', { at: 2_100, by: 'b', seq: 2 })
    s.act('complete', { at: 2_200 })
  })
  t.strictSame(twice, ['done-twice', 'stale-holder'])
})

test('a stale heartbeat that works makes two holders', async (t) => {
  const broken = rulesBrokenBy((s) => {
    s.claimed({ at: 0, lease: 2_000 })
    s.claimed({ at: 3_000, by: 'b', seq: 2 })
    s.act('heartbeat', { at: 4_000, ttl: 10 })
  })
  t.strictSame(broken, ['stale-holder', 'two-holders'])
})

test('a second claim with the same number is reported with all that follows from it', async (t) => {
  const broken = rulesBrokenBy((s) => {
    s.claimed({ at: 0, by: 'a', seq: 1, fence: 10 })
    s.claimed({ at: 1, by: 'b', seq: 1, fence: 11 })
  })
  t.strictSame(broken, ['attempt-number', 'two-holders'])
})
