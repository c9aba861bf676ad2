import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { enterJail } from '../src/jail.ts'
import { newRoot, setup } from './setup.ts'

const place = (cwd: string) => ({ user_id: 7, goal_id: 9, cwd })

t.test('a folder below that of the goal is made when it is missing', async (t) => {
  const root = newRoot()
  const cases = { '': '', '.': '', 'a/b': '/a/b', './c//d/': '/c/d', 'a/b/e': '/a/b/e' }
  for (const [cwd, path] of Object.entries(cases)) {
    t.equal(await enterJail(root, place(cwd)), `${root}/7/9${path}`)
    t.ok(existsSync(`${root}/7/9${path}`))
  }
})

t.test('no path leads out, and nothing is made outside', async (t) => {
  const root = newRoot()
  const outside = newRoot()
  await enterJail(root, place('inner'))
  await enterJail(root, { user_id: 7, goal_id: 10, cwd: '' })
  const goal = `${root}/7/9`
  symlinkSync(outside, `${goal}/out`)
  symlinkSync('../10', `${goal}/neighbour`)
  symlinkSync('..', `${goal}/up`)
  symlinkSync('/etc', `${goal}/inner/etc`)
  symlinkSync('nowhere', `${goal}/broken`)
  symlinkSync('loop', `${goal}/loop`)
  symlinkSync('inner', `${goal}/inside`)
  writeFileSync(`${goal}/file`, '')
  const refused = [
    '..',
    '../10',
    'a/../..',
    'inner/..',
    '/etc',
    goal,
    'out',
    'out/made',
    'neighbour',
    'up',
    'up/10',
    'inner/etc',
    'broken',
    'loop',
    'file',
    'file/below',
    'a\u0000b',
    'x'.repeat(300),
  ]
  for (const cwd of refused) {
    await t.rejects(enterJail(root, place(cwd)), { name: 'Refused' }, JSON.stringify(cwd))
  }
  t.equal(existsSync(`${outside}/made`), false)
  t.equal(existsSync(`${root}/7/made`), false)
  t.equal(await enterJail(root, place('inside')), `${goal}/inner`, 'a link that stays inside')
})

t.test('a link in place of the folder of an owner or a goal is refused', async (t) => {
  const root = newRoot()
  const outside = newRoot()
  symlinkSync(outside, `${root}/7`)
  mkdirSync(`${root}/8`)
  symlinkSync(outside, `${root}/8/9`)

  await t.rejects(enterJail(root, place('')), { name: 'Refused' })
  await t.rejects(enterJail(root, { ...place(''), user_id: 8 }), { name: 'Refused' })
})

t.test('a command in a folder that leads outside is refused, and not run', async (t) => {
  const s = await setup(t)
  const outside = newRoot()
  mkdirSync(s.goal, { recursive: true })
  symlinkSync(outside, `${s.goal}/out`)
  for (const cwd of ['out', '../8', '/tmp']) {
    const verdict = await s.run(['touch', 'was-here'], { cwd })
    t.match(verdict, { outcome: 'refused', exit_code: null, output: /^cwd: / })
  }
  t.equal(existsSync(`${outside}/was-here`), false)
  const inside = await s.run(['touch', 'was-here'], { cwd: 'made/now' })
  t.equal(inside.outcome, 'passed')
  t.ok(existsSync(`${s.goal}/made/now/was-here`))
})
