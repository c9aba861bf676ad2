import { createHmac, randomUUID } from 'node:crypto'
import { streams, type WebhookWithSecret } from '@guildhall/contracts'
import { AckPolicy } from 'nats'
import { type AttachedStream, attachStream } from './attached-stream.ts'
import type { Bench, Benchmark, Row } from './benchmark.ts'
import { startRpcClaims } from './claims-arm.ts'
import type { Guildhall } from './guildhall.ts'
import { type Load, startLoad } from './load-process.ts'
import type { BareRings } from './loads/bare-rings.ts'
import { eventBody } from './loads/event-body.ts'
import { encodeRequest, type HttpConnection, openHttp } from './loads/http-connection.ts'
import type { RpcClaims } from './loads/rpc-claims.ts'
import { type Arm, interleave, pairedRatio, quantile, summarize } from './measure.ts'
import { copyStream, prepareBareWork } from './work-samples.ts'

/** How long an agent waits for the ring once its work was accepted, with nothing else going on. */

interface Hook {
  readonly url: URL
  readonly secret: string | undefined
  readonly http: HttpConnection
}

const openHook = async ({ ingest_url, signing_secret }: WebhookWithSecret): Promise<Hook> => {
  const url = new URL(ingest_url)
  return { url, secret: signing_secret, http: await openHttp(url) }
}

const post = async ({ url, secret, http }: Hook) => {
  const body = eventBody()
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-delivery': randomUUID(),
    ...(secret === undefined
      ? {}
      : {
          'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
        }),
  }
  const request = encodeRequest('POST', url, headers, body)
  const sent_ms = performance.now()
  const response = await http.send(request)
  const accepted_ms = performance.now()
  if (response.status !== 202) throw new Error(`HTTP ${response.status}: ${response.body}`)
  const { id } = JSON.parse(response.body) as { id: string } // its contract says so
  return { id, sent_ms, accepted_ms }
}

interface Sample {
  readonly after_202_ms: number
  readonly after_request_ms: number
}

const sample = async (hook: Hook, stream: AttachedStream): Promise<Sample> => {
  const { id, sent_ms, accepted_ms } = await post(hook)
  const rung_ms = await stream.ring(id)
  return {
    // Sometimes the ring overtakes the answer.
    after_202_ms: Math.max(0, rung_ms - accepted_ms),
    after_request_ms: rung_ms - sent_ms,
  }
}

const roundOf = (latencies_ms: readonly number[]) => ({
  operations: latencies_ms.length,
  seconds: latencies_ms.reduce((sum, ms) => sum + ms, 0) / 1_000,
  latencies_ms,
})

const startBareRings = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const load = startLoad<BareRings>('bare-rings')
  bench.onEnd(load.stop)
  const { records, ...names } = await prepareBareWork(guildhall, 'rings')
  await copyStream(guildhall, streams.deliveries, 'BARE_RINGS', 'bare-rings.*')
  await guildhall.jsm.consumers.add('BARE_RINGS', {
    durable_name: 'rings',
    ack_policy: AckPolicy.Explicit,
  })
  await load.call('connect', {
    nats_url: guildhall.system.nats.url,
    stream: 'BARE_RINGS',
    consumer: 'rings',
    delivery_prefix: 'bare-rings',
    work_prefix: names.work_prefix,
    record_prefix: names.record_prefix,
    record: records.pending,
  })
  return {
    label: 'bare JetStream pipeline',
    processes: {},
    run: (operations) => load.call('ring', { operations }),
  }
}

const ringsArm = (
  { settle }: Guildhall,
  claims: Load<RpcClaims>,
  hooks: readonly Hook[],
  stream: AttachedStream,
  samples: Sample[],
): Arm => ({
  label: '202 to ring',
  processes: {},
  run: async (operations) => {
    const taken: Sample[] = []
    for (let i = 0; i < operations; i += 1) {
      const hook = hooks[i % hooks.length]
      if (hook === undefined) throw new Error('no webhook')
      taken.push(await sample(hook, stream))
      // Out of the way again before the next.
      await claims.call('drain', { queue: 'rings', operations: 1, workers: 1 })
      await settle()
    }
    samples.push(...taken)
    return roundOf(taken.map(({ after_202_ms }) => after_202_ms))
  },
})

const SAMPLES = 60

export const ringAfterWebhook: Benchmark = {
  name: 'ring',
  run: async (bench): Promise<readonly Row[]> => {
    const guildhall = await bench.guildhall()
    const reference = await startBareRings(bench, guildhall)
    await guildhall.settle()
    const hooks = await Promise.all(
      ['github', 'generic'].map(async (type) =>
        openHook(await guildhall.createWebhook(type, 'rings')),
      ),
    )
    const stream = await attachStream(guildhall.mcp_url, guildhall.token)
    bench.onEnd(async () => stream.close())
    const claims = await startRpcClaims(bench, guildhall)
    const samples: Sample[] = []
    const ours = ringsArm(guildhall, claims, hooks, stream, samples)
    const plan = {
      rounds: bench.quick ? 2 : 4,
      round_seconds: 0,
      first_operations: bench.quick ? SAMPLES / 3 : SAMPLES,
      operations_max: SAMPLES,
    }
    const measured = await interleave([ours, reference], plan, bench.progress)
    const [a, b] = [measured.get(ours) ?? [], measured.get(reference) ?? []]
    const summary = summarize(ours.label, a)
    const whole = samples.map(({ after_request_ms }) => after_request_ms)
    const [p50, p99] = [quantile(whole, 0.5).toFixed(1), quantile(whole, 0.99).toFixed(1)]
    return [
      {
        title: 'webhook 202 to ring at an attached client',
        shows: 'latency',
        ours: summary,
        reference: summarize(reference.label, b),
        ratio: pairedRatio(a, b, ({ latencies_ms }) => quantile(latencies_ms, 0.5)),
        value: summary.p50_ms,
        target: { kind: 'at_most', limit: 10, unit: 'ms' },
        note: `from the request's first byte: p50 ${p50} ms, p99 ${p99} ms`,
      },
    ]
  },
}
