import { ATTEMPTS_MAX_MAX, type WorkRecord } from '@guildhall/contracts'
import t from 'tap'
import { newTaskItem } from '../src/new-task-item.ts'
import { splitCommand } from '../src/split-command.ts'
import {
  isTask,
  type TaskClaim,
  type TaskItem,
  type TaskReport,
  taskCancelled,
  taskClaimed,
  taskStatus,
  taskSubmitted,
  taskVerified,
} from '../src/task-item.ts'
import { reaped, released } from '../src/work-item.ts'

const NOW = 1_800_000_000_000

const fresh = (): TaskItem =>
  asTask(
    newTaskItem(
      {
        task_id: 7,
        goal_id: 3,
        owner_id: 1,
        slug: 'docs',
        title: 'write',
        verifier: { kind: 'auto' },
      },
      NOW,
    ),
  )

const asTask = (record: WorkRecord | undefined): TaskItem => {
  if (record === undefined || !isTask(record)) throw new Error('not a task')
  return record
}

const terms: TaskClaim = {
  holder: 'agent:5',
  endpoint_id: undefined,
  claimer_kind: 'endpoint',
  claimant: null,
  lease_ms: 60_000,
  require_fence: false,
  lease_token_hash: 'aa',
  claim_key_hash: 'bb',
  ack_subject: undefined,
  agent_id: 5,
  config_hash: 'hash-of-5',
}

const report: TaskReport = {
  summary: 'done',
  artifact: null,
  tokens: 10,
  cost_minor: 2,
  attempt_summary: 'done',
  attempt_summary_truncated: false,
  key_hash: 'kk',
}

const EMPTY = { summary: null, summary_truncated: false, artifact: null, result: undefined }

const claimedTask = () => asTask(taskClaimed(fresh(), terms, NOW))
const submittedTask = () => asTask(taskSubmitted(claimedTask(), report, NOW + 1))
const verdict = (approved: boolean) => ({
  by: 'agent:9',
  approved,
  timed_out: false,
  reason: approved ? null : 'flag list empty',
})

t.test('a task walks from approved over in progress and verification to done', async (t) => {
  const done = asTask(taskVerified(submittedTask(), verdict(true), NOW + 2))
  t.strictSame([fresh(), claimedTask(), submittedTask(), done].map(taskStatus), [
    'approved',
    'in_progress',
    'awaiting_verification',
    'done',
  ])
  t.strictSame(done.task.verdict, { ...verdict(true), at: NOW + 2 })
  t.match(done.prior_attempts, [{ outcome: 'completed', disposition: 'done', summary: 'done' }])
})

t.test('what has ended stays as it is', async (t) => {
  const done = asTask(taskVerified(submittedTask(), verdict(true), NOW))
  const rejected = asTask(taskVerified(submittedTask(), verdict(false), NOW))
  for (const over of [done, rejected]) {
    t.equal(taskClaimed(over, terms, NOW), undefined)
    t.equal(taskSubmitted(over, report, NOW), undefined)
    t.equal(taskVerified(over, verdict(true), NOW), undefined)
    t.equal(taskCancelled(over, NOW), undefined)
  }
  t.equal(taskStatus(rejected), 'failed')
})

t.test('no step skips another', async (t) => {
  t.equal(taskSubmitted(fresh(), report, NOW), undefined)
  t.equal(taskVerified(fresh(), verdict(true), NOW), undefined)
  t.equal(taskVerified(claimedTask(), verdict(true), NOW), undefined)
  t.equal(taskClaimed(submittedTask(), terms, NOW), undefined)
})

t.test('a lapsed lease is not taken over: the lapse is a write of its own', async (t) => {
  const late = NOW + 60_001
  t.equal(taskClaimed(claimedTask(), { ...terms, agent_id: 6 }, late), undefined)
  const lapsed = asTask(reaped(claimedTask(), late))
  t.equal(taskStatus(lapsed), 'approved')
  t.match(lapsed.task, { holder_agent_id: 5, config_hash: 'hash-of-5' })
  t.match(lapsed.prior_attempts, [{ outcome: 'reaped' }])
  t.match(asTask(taskClaimed(lapsed, { ...terms, agent_id: 6 }, late)).task, { holder_agent_id: 6 })
})

t.test('a task whose last attempt lapses has failed', async (t) => {
  let task = fresh()
  let now = NOW
  for (let attempt = 1; attempt <= ATTEMPTS_MAX_MAX; attempt += 1) {
    const held = asTask(taskClaimed(task, terms, now))
    now += 60_001
    task = asTask(reaped(held, now))
    t.equal(taskStatus(task), attempt === ATTEMPTS_MAX_MAX ? 'failed' : 'approved')
  }
})

t.test('released work is approved again', async (t) => {
  const record = released(claimedTask(), { ...EMPTY, key_hash: undefined }, NOW)
  t.equal(taskStatus(asTask(record)), 'approved')
  t.equal(record.holder, undefined)
})

t.test('cancelling ends a task from every state that is not an end', async (t) => {
  for (const open of [fresh(), claimedTask(), submittedTask()]) {
    const cancelled = asTask(taskCancelled(open, NOW))
    t.equal(taskStatus(cancelled), 'cancelled')
    t.equal(cancelled.holder, undefined)
  }
})

t.test('a command is split at spaces and quotes, and nothing in it is acted upon', async (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['test -s report.txt', ['test', '-s', 'report.txt']],
    ['  npm\ttest  ', ['npm', 'test']],
    [`node -e 'process.exit(1)'`, ['node', '-e', 'process.exit(1)']],
    [`echo "a \\"b\\" \\\\ c" 'd "e"'`, ['echo', 'a "b" \\ c', 'd "e"']],
    ['echo a\\ b \'\' ""', ['echo', 'a b', '', '']],
    [
      'x$HOME `id` $(id) | rm -rf / ; * > y',
      ['x$HOME', '`id`', '$(id)', '|', 'rm', '-rf', '/', ';', '*', '>', 'y'],
    ],
    ['a\'b\'c"d"e', ['abcde']],
    ["'\\n'", ['\\n']],
  ]
  for (const [line, argv] of rows) t.strictSame(splitCommand(line), { argv }, line)
})

t.test('a command that cannot be read says why', async (t) => {
  for (const line of [
    '',
    '   ',
    '"" a',
    "echo 'a",
    'echo "a',
    'echo \\',
    `x ${'a '.repeat(100)}`,
    'a\u0000b',
  ]) {
    t.match(splitCommand(line), { problem: String }, line)
  }
})
