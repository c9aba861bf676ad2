import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listAgents, listEndpoints, listWebhooks } from '@guildhall/contracts'
import { temporaryDirectory } from '@guildhall/testing'
import t from 'tap'
import { firstOwner } from './support/owner.ts'
import { runningSystem } from './support/running-system.ts'

/** `make demo`, run as a person runs it. */

const DEMO = fileURLToPath(new URL('../demo/run.js', import.meta.url))
const DEMO_MAX_MS = 40_000

const runDemo = (dev_json: string): Promise<{ code: number | null; output: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, GUILDHALL_DEV_JSON: dev_json }
    const child = spawn(process.execPath, [DEMO], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8')
      })
    }
    child.once('close', (code) => resolve({ code, output }))
  })

t.test('the demo tells its story twice in a row and leaves nothing behind', async (t) => {
  const system = await runningSystem(t)
  const owner = firstOwner(system)
  const [mcp_url, api_url, ingest_url] = [
    system.mcp_urls[0],
    system.api_urls[0],
    system.ingest_urls[0],
  ]
  const dev_json = join(temporaryDirectory('demo'), 'dev.json')
  const { owner: of_system, agent } = system
  writeFileSync(dev_json, JSON.stringify({ mcp_url, api_url, ingest_url, owner: of_system, agent }))

  for (const time of ['first', 'second']) {
    const started = performance.now()
    const { code, output } = await runDemo(dev_json)
    t.equal(code, 0, `the ${time} run ends well`)
    if (code !== 0) t.comment(output)
    t.ok(performance.now() - started < DEMO_MAX_MS, `the ${time} run is quick enough`)
    for (const line of [
      /prior_attempts/,
      /died/,
      /conflict/,
      /repeat: true/,
      /← 401/,
      /kill -9/,
      /← paused|goal: paused/,
      /in good standing/,
      /docs\.write/,
    ]) {
      t.match(output, line)
    }
    t.notMatch(output, '\u001b[', 'no colours where there is no terminal')
    t.notOk(
      output.split('\n').some((line) => line.length > 100),
      'no line is wider than 100 columns',
    )
  }
  const { endpoints } = await owner.call(listEndpoints, {})
  const of_demo = endpoints.filter(({ agent_name }) => agent_name === 'demo-agent')
  t.strictSame(
    of_demo.map(({ status }) => status),
    ['revoked', 'revoked'],
  )
  const { agents } = await owner.call(listAgents, { status: 'active' })
  t.notMatch(JSON.stringify(agents.map(({ name }) => name)), /docs-scanner|demo-reviewer/)
  const goals = (await owner.rest('GET', '/goals')).body
  t.match(goals, [{ status: 'completed' }, { status: 'completed' }])
  t.strictSame((await owner.call(listWebhooks, {})).webhooks, [])

  await Promise.all(system.services['mcp-gateway'].map((gateway) => gateway.stop()))
  const down = await runDemo(dev_json)
  t.equal(down.code, 1)
  t.match(down.output, /does not answer.*\nStart it with `make up`/)
})

t.test('without a system it says how to start one', async (t) => {
  const { code, output } = await runDemo(join(temporaryDirectory('demo'), 'nothing.json'))
  t.equal(code, 1)
  t.match(output, /nothing seems to run\.\nStart the system with `make up`/)
})
