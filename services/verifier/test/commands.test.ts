import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { COMMAND_OUTPUT_MAX_BYTES } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { identity, processesWith, setup } from './setup.ts'

t.test('scenario 23: the report is there, or it is not', async (t) => {
  const s = await setup(t)
  const test = ['test', '-s', 'report.txt']
  const absent = await s.run(test, { timeout_sec: 10 })
  writeFileSync(`${s.goal}/report.txt`, 'done')
  const present = await s.run(test, { timeout_sec: 10 })

  t.match(absent, { outcome: 'failed', exit_code: 1, output: '', output_truncated: false })
  t.match(present, { v: 1, user_id: 7, revision: 3, outcome: 'passed', exit_code: 0 })
})

t.test('scenario 23: what takes too long is ended, and nothing of it is left', async (t) => {
  const s = await setup(t)
  const started = performance.now()
  const { outcome, exit_code } = await s.run(['sleep', '30.0123'], { timeout_sec: 1 })
  const took_ms = performance.now() - started

  t.strictSame({ outcome, exit_code }, { outcome: 'timed_out', exit_code: null })
  t.ok(took_ms < 15_000, `${took_ms} ms`)
  t.strictSame(await processesWith('30.0123'), [])
})

t.test('a whole tree of processes ends with its command, whatever it tried', async (t) => {
  const s = await setup(t)
  const tree = `
    trap '' TERM HUP INT
    for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 40.0456 & sh -c 'sleep 40.0456 & wait' & wait) & done
    setsid sleep 40.0456 &
    setsid setsid sh -c 'trap "" TERM HUP; sleep 40.0456; sleep 40.0456' &
    nohup sleep 40.0456 >/dev/null 2>&1 &
    echo grown; wait`
  const slow = await s.request(['sh', '-c', tree], { timeout_sec: 2 })
  await waitFor(async () => (await processesWith('40.0456')).length > 20, { what: 'the tree' })
  t.match(await s.verdict(slow), { outcome: 'timed_out', output: 'grown\n' })
  t.strictSame(await processesWith('40.0456'), [])

  const left = await s.run(['sh', '-c', 'setsid sleep 41.0456 & sleep 41.0456 & echo done'])
  t.match(left, { outcome: 'passed', output: 'done\n' }, 'what goes on in the background does not')
  t.strictSame(await processesWith('41.0456'), [])
})

t.test('one that starts others faster than it is looked at does not survive', async (t) => {
  const s = await setup(t)
  const breeder = 'f() { sleep 0.05; f 42.0789 & }; while :; do f & sleep 0.02; done'
  const { outcome } = await s.run(['sh', '-c', breeder, '42.0789'], { timeout_sec: 1 })

  t.equal(outcome, 'timed_out')
  t.strictSame(await processesWith('42.0789'), [])
})

t.test('of ten megabytes the beginning and the end are kept', async (t) => {
  const s = await setup(t)
  const { outcome, output, output_truncated } = await s.run([
    'sh',
    '-c',
    'echo begin; head -c 10000000 /dev/zero | tr "\\0" x; echo; echo end >&2',
  ])

  t.strictSame({ outcome, output_truncated }, { outcome: 'passed', output_truncated: true })
  t.ok(Buffer.byteLength(output) <= COMMAND_OUTPUT_MAX_BYTES, `${output.length}`)
  t.match(output, /^begin\nxxx[\s\S]*\n\[\.\.\. 99\d+ bytes left out \.\.\.\]\n[\s\S]*xxx\nend\n$/)
})

t.test('bytes that are no text, and NUL, become what can be stored', async (t) => {
  const s = await setup(t)
  const { output, output_truncated } = await s.run(['printf', 'a\\377b\\000c\\303\\251'])

  t.equal(output, 'a\uFFFDb\uFFFDcé')
  t.equal(output_truncated, false)
  const noise = await s.run(['sh', '-c', 'head -c 16384 /dev/zero | tr "\\0" "\\377"'])
  t.ok(Buffer.byteLength(noise.output) <= COMMAND_OUTPUT_MAX_BYTES)
  t.equal(noise.output_truncated, true)
})

t.test('the environment is what is listed, and no secret of ours', async (t) => {
  process.env.NATS_PASSWORD = 'hidden-from-commands'
  process.env.GUILDHALL_SECRET = 'hidden-from-commands'
  t.teardown(() => {
    delete process.env.NATS_PASSWORD
    delete process.env.GUILDHALL_SECRET
  })
  const s = await setup(t)
  const { output } = await s.run(['env'], {
    env: { GUILDHALL_TASK_ID: '5', LD_PRELOAD: '/evil.so', PATH: '/evil', guildhall_x: '1' },
  })
  // The test runner gives every process that a test starts some variables of its own.
  const names = output
    .split('\n')
    .filter((line) => /^\w+=/.test(line) && !/^(_TAPJS|NODE_OPTIONS)/.test(line))
    .map((line) => line.split('=')[0])

  t.strictSame(names.sort(), ['GUILDHALL_RUN', 'GUILDHALL_TASK_ID', 'HOME', 'LANG', 'PATH'])
  t.match(output, new RegExp(`^HOME=${s.goal}$`, 'm'))
  t.match(output, /^PATH=\/usr\/local\/bin:\/usr\/bin:\/bin$/m)
  t.notMatch(output, /hidden|evil/)
})

t.test('a command reads neither our environment nor what is root’s', async (t) => {
  const s = await setup(t)
  const { output } = await s.run(['sh', '-c', 'id -u; cat /proc/$PPID/environ >/dev/null; echo $?'])
  const [uid, ...rest] = output.trim().split('\n')

  t.equal(uid, `${identity?.uid ?? process.getuid?.()}`)
  // Without the right to become somebody else there is no such wall: the pod must be it.
  t.equal(rest.at(-1), identity === undefined ? '0' : '1')
})

t.test('there is no shell, no input, and a lower priority', async (t) => {
  const s = await setup(t)
  t.equal((await s.run(['echo', '$HOME; ls | cat > x', '*'])).output, '$HOME; ls | cat > x *\n')
  t.match(await s.run(['cat']), { outcome: 'passed', output: '' })
  const nice = await s.run(['sh', '-c', 'sleep 0.3; nice'])
  t.equal(nice.output, '10\n')
})

t.test('what cannot be started is refused, with the reason', async (t) => {
  const s = await setup(t)
  writeFileSync(`${s.root}/plain`, '')
  const cases: [string[], RegExp][] = [
    [['no-such-program'], /cannot be started: ENOENT/],
    [['./not-executable'], /cannot be started: EACCES/],
    [[''], /is empty/],
    [['echo', 'a\u0000b'], /cannot be started: ERR_INVALID_ARG_VALUE/],
    [['echo', 'x'.repeat(300_000)], /cannot be started: E2BIG/],
  ]
  mkdirSync(s.goal, { recursive: true })
  writeFileSync(`${s.goal}/not-executable`, 'no')
  chmodSync(`${s.goal}/not-executable`, 0o644)
  for (const [argv, reason] of cases) {
    const verdict = await s.run(argv)
    t.match(verdict, { outcome: 'refused', exit_code: null, output: reason })
  }
})

t.test('exit codes and signals are failures', async (t) => {
  const s = await setup(t)
  t.match(await s.run(['sh', '-c', 'exit 7']), { outcome: 'failed', exit_code: 7 })
  t.match(await s.run(['sh', '-c', 'kill -9 $$']), { outcome: 'failed', exit_code: null })
})
