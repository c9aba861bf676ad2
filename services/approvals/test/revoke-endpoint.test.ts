import { revokeEndpoint, rotateEndpoint, subjects } from '@guildhall/contracts'
import { waitFor } from '@guildhall/testing'
import t from 'tap'
import { eventsAbout, type Setup, setup } from './setup.ts'

const revoke = (s: Setup, endpoint_id: string) =>
  s.call(revokeEndpoint, { endpoint_id }, { principal: s.ann })

t.test(
  'C1 C9 a revoked endpoint and its credential are dead when the answer arrives',
  async (t) => {
    const s = await setup(t)
    const { endpoint, token } = await s.vend()
    const { endpoint_id } = endpoint
    s.clock.advance(5_000)
    const revoked = await revoke(s, endpoint_id)

    t.strictSame(revoked, {
      ...endpoint,
      status: 'revoked',
      revoked_at: new Date(s.clock.now()).toISOString(),
      version: 2,
    })
    t.strictSame(await s.identity.endpoint(endpoint_id), revoked)
    t.strictSame(await s.identity.credential(token), {
      v: 1,
      kind: 'endpoint',
      endpoint_id,
      revoked: true,
    })
  },
)

t.test('a revocation is told once, however often and by how many it is asked for', async (t) => {
  const s = await setup(t)
  const { endpoint } = await s.vend()
  const { endpoint_id, agent_id, user_id } = endpoint
  const answers = await Promise.all(Array.from({ length: 5 }, () => revoke(s, endpoint_id)))
  s.clock.advance(60_000)
  answers.push(await revoke(s, endpoint_id))

  t.strictSame(
    answers,
    answers.map(() => answers[0]),
  )
  const events = await waitFor(
    async () => {
      const found = await eventsAbout(s.bus, endpoint_id)
      return found.length > 0 && found
    },
    { what: 'the event' },
  )
  t.strictSame(events, [
    {
      subject: subjects.event('approvals', 'endpoint', 'revoked'),
      payload: {
        v: 1,
        endpoint_id,
        agent_id,
        user_id,
        revoked_at: Date.parse(answers[0]?.revoked_at ?? ''),
      },
    },
  ])
})

t.test('of a revocation and a rotation at the same time, no credential survives', async (t) => {
  const s = await setup(t)
  const { endpoint, token } = await s.vend()
  const { endpoint_id } = endpoint
  const [, rotated] = await Promise.allSettled([
    revoke(s, endpoint_id),
    s.call(rotateEndpoint, { endpoint_id }, { principal: s.ann }),
  ])
  const tokens = rotated.status === 'fulfilled' ? [token, rotated.value.token] : [token]
  const credentials = await Promise.all(tokens.map(s.identity.credential))

  t.strictSame(
    credentials.map((credential) => credential?.revoked),
    tokens.map(() => true),
  )
  t.equal((await s.identity.endpoint(endpoint_id))?.status, 'revoked')
})
