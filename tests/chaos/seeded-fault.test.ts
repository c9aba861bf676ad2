import { type System, startSystem } from '@guildhall/testing'
import { type Test, test } from 'tap'
import { check } from './checker.ts'
import { readClaimAnswer } from './claims.ts'
import { openHistory, readHistory } from './history.ts'
import { openHttp } from './http.ts'
import { openMcp } from './mcp.ts'
import { BREAK_CAS, vend } from './stage.ts'
import type { Violation } from './violation.ts'
import { idIn } from './world.ts'

/** That the checker finds nothing means something only if it finds what is there. */

const TODOS = 8
const CLAIMERS = 6
const LEASE_SECONDS = 60

interface Winner {
  readonly actor: string
  readonly id: string
  readonly lease_token: string
}

/** Several agents reach for each todo at the same moment; whoever gets it completes it. */
const contest = async (t: Test, system: System, name: string): Promise<readonly Violation[]> => {
  const history = openHistory(`${t.testdirName}/${name}.jsonl`)
  const http = openHttp()
  const mcp = openMcp(http, history)
  const url = system.mcp_urls[0] ?? ''
  const token = await vend(system, name)

  const reach = async (actor: string, id: string): Promise<Winner | undefined> => {
    const input = { id, lease_ttl_seconds: LEASE_SECONDS }
    const outcome = await mcp.call(url, token, { actor, name: 'claim', input })
    const claim = outcome.kind === 'ok' ? readClaimAnswer('claim', outcome.value) : undefined
    return claim && { actor, id, lease_token: claim.lease_token }
  }

  const work = async ({ actor, id, lease_token }: Winner): Promise<void> => {
    const claim = lease_token
    const beat = { id, lease_token, lease_ttl_seconds: LEASE_SECONDS }
    await mcp.call(url, token, { actor, name: 'heartbeat', input: beat, claim })
    await mcp.call(url, token, { actor, name: 'complete', input: { id, lease_token }, claim })
  }

  for (let i = 1; i <= TODOS; i += 1) {
    const item = `${name}-${i}`
    const input = { queue: 'inbox', title: `contested [${item}]`, payload: { item: `[${item}]` } }
    const made = await mcp.call(url, token, {
      actor: 'dispatcher',
      name: 'create_todo',
      input,
      item,
    })
    const id = made.kind === 'ok' ? idIn(made.value) : undefined
    if (id === undefined) throw new Error(`not created: ${JSON.stringify(made)}`)
    const claimers = Array.from({ length: CLAIMERS }, (_, n) => `claimer-${n}`)
    const reached = await Promise.all(claimers.map((actor) => reach(actor, id)))
    for (const winner of reached.filter((one) => one !== undefined)) await work(winner)
  }
  history.close()
  http.close()
  const lines = readHistory(history.file)
  const claims = lines.filter((line) => line.kind === 'call' && line.name === 'claim').length
  t.equal(claims, TODOS * CLAIMERS, 'every claimer reached for every todo')
  return check(lines)
}

test('the checker finds a compare-and-set that does not compare', async (t) => {
  t.setTimeout(240_000)
  const system = await startSystem()
  t.teardown(() => system.stop())
  t.testdir()

  t.strictSame(await contest(t, system, 'sound'), [], 'as it is, nothing is wrong')

  await system.services.tasks[0]?.restart(BREAK_CAS)
  const found = new Set((await contest(t, system, 'broken')).map(({ rule }) => rule))
  t.ok(found.has('two-holders'), 'two held it at once')
  t.ok(found.has('attempt-number'), 'and both have the same number')
})
