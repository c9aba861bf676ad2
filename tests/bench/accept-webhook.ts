import { streams } from '@guildhall/contracts'
import type { Benchmark } from './benchmark.ts'
import { compare } from './compare.ts'
import { startLoad } from './load-process.ts'
import type { BarePublishes } from './loads/bare-publishes.ts'
import type { WebhookPosts } from './loads/webhook-posts.ts'
import { callPlan, WORKERS } from './plan.ts'
import { copyStream } from './work-samples.ts'

/** What it costs to verify a delivery and to accept it, on top of storing its body. */
export const acceptWebhook: Benchmark = {
  name: 'webhook',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const { system, settle } = guildhall
    const nats = system.nats.pid
    const { ingest_url, signing_secret } = await guildhall.createWebhook('github', 'hooks')
    const posts = startLoad<WebhookPosts>('webhook-posts')
    const bare = startLoad<BarePublishes>('bare-publishes')
    bench.onEnd(posts.stop)
    bench.onEnd(bare.stop)
    await posts.call('connect', { ingest_url, secret: signing_secret ?? '', workers: WORKERS })
    await copyStream(guildhall, streams.deliveries, 'BARE_DELIVERIES', 'bare-deliveries.*')
    await bare.call('connect', {
      nats_url: system.nats.url,
      subject_prefix: 'bare-deliveries',
    })
    return await compare(
      bench,
      { ...callPlan(bench.quick), first_operations: 200 },
      {
        label: 'ingest 202',
        processes: {
          ingest: system.services.ingest[0]?.pid ?? -1,
          tasks: system.services.tasks[0]?.pid ?? -1,
          nats,
          load: posts.pid,
        },
        prepare: (operations) => posts.call('prepare', { operations }),
        run: (operations) =>
          bench.profile(['ingest', 'tasks'], () => posts.call('post', { operations })),
        settle,
      },
      [
        {
          title: 'signed webhooks accepted / bare JetStream publish',
          target: { kind: 'at_least', limit: 0.4, unit: 'x' },
          arm: {
            label: 'bare publish',
            processes: { nats, load: bare.pid },
            prepare: (operations) => bare.call('prepare', { operations }),
            run: (operations) => bare.call('publish', { operations, workers: WORKERS }),
          },
        },
      ],
    )
  },
}
