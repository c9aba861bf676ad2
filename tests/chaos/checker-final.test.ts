import { testRules } from './rule-cases.ts'
import { accepted, lost, ok, refused, type Story, TODO_ID } from './story.ts'

/** What the checker says of accepted work and of the final state. */

/** Delivered, claimed and completed, with what differs from that. */
const oneDone = (s: Story): void => {
  s.delivered({ at: 0 })
  s.claimed({ at: 100 })
  s.act('complete', { at: 200, result: 'r' })
}

testRules([
  {
    rule: 'delivery-twice',
    breaks: {
      'one body has two ids': (s) => {
        s.delivered({ at: 0 })
        s.delivered({ at: 100, outcome: accepted('td-2', 0) })
      },
      'one body is new twice': (s) => {
        s.delivered({ at: 0 })
        s.delivered({ at: 100 })
      },
    },
    keeps: {
      'the repeat is known': (s) => {
        s.delivered({ at: 0 })
        s.delivered({ at: 100, outcome: accepted(TODO_ID, 0) })
      },
      'no try was ever called new, because that answer was lost': (s) => {
        s.delivered({ at: 0, outcome: lost })
        s.delivered({ at: 100, outcome: accepted(TODO_ID, 0) })
      },
    },
  },
  {
    rule: 'todo-twice',
    breaks: {
      'a second todo of the same item is there': (s) => {
        oneDone(s)
        s.claimed({ at: 300, todo: 'td-2' })
        s.call({ at: 400, name: 'complete', claim: 'token-td-2-1-a', outcome: ok({}) })
        s.audit(1_000, [{ result: 'r' }, { id: 'td-2' }])
      },
    },
    keeps: {
      'there is one, and one delivery in the history of events': (s) => {
        oneDone(s)
        s.delivered({ at: 500, outcome: accepted(TODO_ID, 0) })
        s.audit(1_000, [{ result: 'r' }], 1)
      },
      'a lost create_todo became one as well': (s) => {
        s.created({ at: 0, outcome: lost })
        s.claimed({ at: 100 })
        s.act('complete', { at: 200 })
        s.audit(1_000, [{}])
      },
    },
  },
  {
    rule: 'todo-from-nothing',
    breaks: {
      'every try was refused': (s) => {
        s.created({ at: 0, outcome: refused('forbidden') })
        s.claimed({ at: 100 })
        s.act('complete', { at: 200 })
        s.audit(1_000, [{}])
      },
      'nobody ever spoke of it': (s) => {
        s.claimed({ at: 100 })
        s.act('complete', { at: 200 })
        s.audit(1_000, [{}])
      },
    },
    keeps: {
      'an undecided try made it': (s) => {
        s.created({ at: 0, outcome: refused('unavailable') })
        s.claimed({ at: 100 })
        s.act('complete', { at: 200 })
        s.audit(1_000, [{}])
      },
    },
  },
  {
    rule: 'todo-lost',
    breaks: {
      'it was accepted and is not there': (s) => {
        s.delivered({ at: 0 })
        s.audit(1_000, [])
      },
      'it is there under another id': (s) => {
        s.delivered({ at: 0, outcome: accepted('td-2') })
        s.claimed({ at: 100 })
        s.act('complete', { at: 200 })
        s.audit(1_000, [{}])
      },
      'two items were answered with one todo': (s) => {
        s.delivered({ at: 0, item: 'w-1' })
        s.delivered({ at: 100, item: 'w-2' })
      },
    },
    keeps: {
      'its only try was lost': (s) => {
        s.delivered({ at: 0, outcome: lost })
        s.audit(1_000, [])
      },
    },
  },
  {
    rule: 'not-finished',
    breaks: {
      'it is still pending': (s) => {
        s.delivered({ at: 0 })
        s.audit(1_000, [{ state: 'pending', total: 0 }])
      },
      'it is a dead letter with attempts left': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100 })
        s.act('fail', { at: 200 })
        s.audit(1_000, [{ state: 'failed', dead_letter: true, max_attempts: 2 }])
      },
      'it waits for a retry': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100 })
        s.act('fail', { at: 200 })
        s.audit(1_000, [{ state: 'failed' }])
      },
    },
    keeps: {
      'it is a dead letter after its last attempt': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100 })
        s.act('fail', { at: 200 })
        s.audit(1_000, [{ state: 'failed', dead_letter: true, max_attempts: 1 }])
      },
    },
  },
  {
    rule: 'answer-lost',
    breaks: {
      'a claim that was answered is not counted': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100, lease: 1_000 })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
        s.act('complete', { at: 2_100, by: 'b', seq: 2 })
        s.audit(3_000, [{ total: 1 }])
      },
      'it was completed with something else': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'q' }])
      },
      'it was completed and is a dead letter': (s) => {
        oneDone(s)
        s.audit(1_000, [{ state: 'failed', dead_letter: true, max_attempts: 1 }])
      },
    },
    keeps: {
      'all is as was answered': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r' }])
      },
    },
  },
  {
    rule: 'list-differs',
    breaks: {
      'the list is behind': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r', listed: 'claimed' }])
      },
    },
    keeps: {
      'the list shows the same': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r', listed: 'done' }])
      },
    },
  },
  {
    rule: 'history-incomplete',
    breaks: {
      'an attempt is missing': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100, lease: 1_000 })
        s.claimed({ at: 2_000, by: 'b', seq: 2 })
        s.act('complete', { at: 2_100, by: 'b', seq: 2 })
        s.audit(3_000, [{ total: 2, attempts: [1] }])
      },
      'an accepted delivery is missing': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r' }], 0)
      },
      'a delivery is in it twice': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r' }], 2)
      },
    },
    keeps: {
      'a lost delivery is not in it': (s) => {
        oneDone(s)
        s.delivered({ at: 300, item: 'w-2', outcome: lost })
        s.audit(1_000, [{ result: 'r' }], 1)
      },
    },
  },
  {
    rule: 'done-by-nobody',
    breaks: {
      'nobody tried to complete it': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100 })
        s.audit(1_000, [{}])
      },
    },
    keeps: {
      'a completion that was not answered did it': (s) => {
        s.delivered({ at: 0 })
        s.claimed({ at: 100 })
        s.act('complete', { at: 200, outcome: lost })
        s.audit(1_000, [{}])
      },
    },
  },
  {
    rule: 'audit-incomplete',
    breaks: {
      'a todo that is listed could not be read': (s) => {
        oneDone(s)
        s.audit(1_000, [{ result: 'r' }])
        const read = s.lines.findLastIndex((line) => line.kind === 'answer')
        s.lines.splice(read, 1)
      },
    },
    keeps: {
      'there was no audit, so nothing is said about the final state': (s) => s.delivered({ at: 0 }),
    },
  },
])
