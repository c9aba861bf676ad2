import { streams } from '@guildhall/contracts'
import type { Bench, Benchmark } from './benchmark.ts'
import { compare } from './compare.ts'
import type { Guildhall } from './guildhall.ts'
import { startLoad } from './load-process.ts'
import type { BarePublishes } from './loads/bare-publishes.ts'
import type { WebhookPosts } from './loads/webhook-posts.ts'
import type { Arm } from './measure.ts'
import { callPlan, WORKERS } from './plan.ts'
import { copyStream } from './work-samples.ts'

const startPosts = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const { system, settle } = guildhall
  const { ingest_url, signing_secret = '' } = await guildhall.createWebhook('github', 'hooks')
  const posts = startLoad<WebhookPosts>('webhook-posts')
  bench.onEnd(posts.stop)
  await posts.call('connect', { ingest_url, secret: signing_secret, workers: WORKERS })
  return {
    label: 'ingest 202',
    processes: {
      ingest: system.services.ingest[0]?.pid ?? -1,
      tasks: system.services.tasks[0]?.pid ?? -1,
      nats: system.nats.pid,
      postgres: system.postgres.pid,
      load: posts.pid,
    },
    prepare: (operations) => posts.call('prepare', { operations }),
    run: (operations) => posts.call('post', { operations }),
    settle,
  }
}

const profiled = (bench: Bench, posts: Arm): Arm => ({
  ...posts,
  run: (operations) => bench.profile(['ingest', 'tasks'], () => posts.run(operations)),
})

/**
 * Accepting alone: no todos are made of the deliveries meanwhile. On a machine with few CPUs the
 * difference is what the rest of the system takes from the one that accepts.
 */
const alone = ({ system }: Guildhall, posts: Arm): Arm => ({
  ...posts,
  label: 'ingest 202, tasks paused',
  run: async (operations) => {
    for (const service of system.services.tasks) service.pause()
    try {
      return await posts.run(operations)
    } finally {
      for (const service of system.services.tasks) service.resume()
    }
  },
})

const startPublishes = async (bench: Bench, guildhall: Guildhall): Promise<Arm> => {
  const { nats } = guildhall.system
  const bare = startLoad<BarePublishes>('bare-publishes')
  bench.onEnd(bare.stop)
  await copyStream(guildhall, streams.deliveries, 'BARE_DELIVERIES', 'bare-deliveries.*')
  await bare.call('connect', { nats_url: nats.url, subject_prefix: 'bare-deliveries' })
  return {
    label: 'bare publish',
    processes: { nats: nats.pid, load: bare.pid },
    prepare: (operations) => bare.call('prepare', { operations }),
    run: (operations) => bare.call('publish', { operations, workers: WORKERS }),
  }
}

/** What it costs to verify a delivery and to accept it, on top of storing its body. */
export const acceptWebhook: Benchmark = {
  name: 'webhook',
  run: async (bench) => {
    const guildhall = await bench.guildhall()
    const posts = await startPosts(bench, guildhall)
    const publishes = await startPublishes(bench, guildhall)
    return await compare(bench, { ...callPlan(bench.quick), first_operations: 200 }, [
      {
        title: 'signed webhooks accepted / bare JetStream publish',
        target: { kind: 'at_least', limit: 0.4, unit: 'x' },
        ours: profiled(bench, posts),
        reference: publishes,
      },
      {
        title: 'the same while the tasks service is paused',
        target: { kind: 'none' },
        ours: alone(guildhall, posts),
        reference: publishes,
      },
    ])
  },
}
