import { listEndpoints } from '@guildhall/contracts'
import t from 'tap'
import { type Setup, setup } from './setup.ts'

const list = (s: Setup, limit?: number, cursor?: string) =>
  s.call(
    listEndpoints,
    { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) },
    { principal: s.ann },
  )

t.test('endpoints are listed newest first, in pages that miss and repeat none', async (t) => {
  const s = await setup(t)
  const vended = []
  for (let i = 0; i < 5; i += 1) {
    s.clock.advance(1)
    vended.unshift((await s.vend()).endpoint)
  }
  const first = await list(s, 2)
  s.clock.advance(1)
  await s.vend() // newer than the page that was read: it shifts nothing
  const second = await list(s, 2, first.next_cursor)
  const third = await list(s, 2, second.next_cursor)

  t.strictSame([...first.endpoints, ...second.endpoints, ...third.endpoints], vended)
  t.equal(third.next_cursor, undefined)
})

t.test('a last page that is full has no cursor', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()

  t.strictSame(await list(s, 1), { endpoints: [endpoint] })
})

t.test('nobody with no endpoints gets an empty list', async (t) => {
  const s = await setup(t)

  t.strictSame(await list(s), { endpoints: [] })
})

for (const cursor of ['nonsense', 'ep_', 'ep_\u0000', '']) {
  t.test(`the cursor ${JSON.stringify(cursor)} is refused`, async (t) => {
    const s = await setup(t)

    await t.rejects(list(s, 2, cursor), { code: 'invalid_argument' })
  })
}

t.test('a limit beyond the maximum is refused and not cut down', async (t) => {
  const s = await setup(t)

  await t.rejects(list(s, 201), { code: 'invalid_argument' })
})
