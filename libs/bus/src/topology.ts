import {
  agentChanged,
  approvalDecided,
  bodyStore,
  buckets,
  commandFinished,
  commandRequested,
  evidenceEarned,
  goalChanged,
  PULL_ACK_WAIT_MS,
  RETENTION_DAYS,
  STORAGE_DEFAULT_BYTES,
  secretChanged,
  standingChanged,
  streams,
  taskClaimed,
  treeSettled,
  workGuard,
} from '@guildhall/contracts'
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from 'nats'
import type { Bus } from './connect.ts'
import { isConsumerNotFound, isStreamNotFound } from './errors.ts'
import { publish } from './publish.ts'

/** Every stream, bucket and fixed consumer of the system. Nothing else creates any. */

const DAY_MS = 86_400_000

type StreamSpec = Partial<StreamConfig> & {
  name: string
  subjects: string[]
  /** Percent of the storage budget. What nearly every item passes through has most of it. */
  share: number
}

const streamSpecs: readonly StreamSpec[] = [
  {
    // Limits retention: the stream is the 30-day memory of what was accepted. A full one refuses
    // the new (the provider tries again) rather than forget the old and accept it twice.
    name: streams.deliveries,
    subjects: ['deliveries.>'],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_age: nanos(RETENTION_DAYS * DAY_MS),
    share: 20,
    max_msgs_per_subject: 1,
    discard_new_per_subject: true,
    allow_direct: true,
  },
  {
    name: streams.work,
    subjects: ['work.>'],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    share: 20,
    max_msgs_per_subject: 1,
    discard_new_per_subject: true,
    allow_direct: true,
  },
  {
    name: streams.events,
    subjects: ['evt.>'],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(RETENTION_DAYS * DAY_MS),
    share: 6,
    duplicate_window: nanos(600_000),
    allow_direct: true,
  },
  {
    name: streams.dead,
    subjects: ['dead.>'],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(RETENTION_DAYS * DAY_MS),
    share: 4,
    max_msgs_per_subject: 1,
    allow_direct: true,
  },
]

interface BucketSpec {
  readonly name: string
  /** Revisions kept per key. */
  readonly history: number
  readonly ttl_ms?: number
  readonly share: number
}

const bucketSpecs: readonly BucketSpec[] = [
  // Deep enough that the projection sees each transition of an item, whatever happens in between.
  { name: buckets.work, history: 64, share: 20 },
  { name: buckets.identity, history: 1, share: 2 },
  { name: buckets.webhooks, history: 1, share: 2 },
  { name: buckets.lanes, history: 1, share: 1 },
  // No lease is longer than a day.
  { name: buckets.claimKeys, history: 1, ttl_ms: DAY_MS, share: 2 },
  { name: buckets.sessions, history: 1, ttl_ms: DAY_MS, share: 1 },
  { name: buckets.rates, history: 1, ttl_ms: 600_000, share: 1 },
  { name: buckets.agents, history: 1, share: 1 },
  { name: buckets.goals, history: 1, share: 3 },
  { name: buckets.standing, history: 1, share: 1 },
]

/** A bucket is a stream with these settings (NATS ADR-8); we state them to see every drift. */
const bucketStream = (spec: BucketSpec): StreamSpec => ({
  name: `KV_${spec.name}`,
  subjects: [`$KV.${spec.name}.>`],
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msgs_per_subject: spec.history,
  max_age: spec.ttl_ms === undefined ? 0 : nanos(spec.ttl_ms),
  share: spec.share,
  allow_rollup_hdrs: true,
  deny_delete: true,
  allow_direct: true,
})

/** The object store likewise (NATS ADR-20). */
const bodyStream: StreamSpec = {
  name: `OBJ_${bodyStore}`,
  subjects: [`$O.${bodyStore}.C.>`, `$O.${bodyStore}.M.>`],
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: nanos(RETENTION_DAYS * DAY_MS),
  share: 16,
  allow_rollup_hdrs: true,
  allow_direct: true,
}

interface ConsumerSpec {
  readonly stream: string
  readonly durable: string
  readonly filter: string
}

export const durables = {
  tasksDeliveries: 'tasks-deliveries',
  tasksProjection: 'tasks-projection',
  tasksEndpointRevoked: 'tasks-endpoint-revoked',
  ingestHistory: 'ingest-history',
  approvalsTrees: 'approvals-trees',
  approvalsGoals: 'approvals-goals',
  approvalsTasks: 'approvals-tasks',
  approvalsNotices: 'approvals-notices',
  approvalsStanding: 'approvals-standing',
  approvalsSecrets: 'approvals-secrets',
  tasksApprovals: 'tasks-approvals',
  tasksCommands: 'tasks-commands',
  reputationEvidence: 'reputation-evidence',
  reputationAgents: 'reputation-agents',
  secretsApprovals: 'secrets-approvals',
  verifierCommands: 'verifier-commands',
} as const

/** What a consumer that was killed held comes back after this. Handlers need far less. */
const CONSUMER_ACK_WAIT_MS = 10_000

const eventConsumers = (rows: readonly (readonly [string, string])[]): ConsumerSpec[] =>
  rows.map(([durable, filter]) => ({ stream: streams.events, durable, filter }))

const consumerSpecs: readonly ConsumerSpec[] = [
  { stream: streams.deliveries, durable: durables.tasksDeliveries, filter: 'deliveries.>' },
  { stream: streams.deliveries, durable: durables.ingestHistory, filter: 'deliveries.>' },
  {
    stream: `KV_${buckets.work}`,
    durable: durables.tasksProjection,
    filter: `$KV.${buckets.work}.>`,
  },
  {
    stream: streams.events,
    durable: durables.tasksEndpointRevoked,
    filter: 'evt.approvals.endpoint.revoked.v1',
  },
  ...eventConsumers([
    [durables.approvalsTrees, treeSettled.subject],
    [durables.approvalsGoals, goalChanged.subject],
    [durables.approvalsTasks, taskClaimed.subject],
    [durables.approvalsNotices, 'evt.*.notice.posted.v1'],
    [durables.approvalsStanding, standingChanged.subject],
    [durables.approvalsSecrets, secretChanged.subject],
    [durables.tasksApprovals, approvalDecided.subject],
    [durables.tasksCommands, commandFinished.subject],
    [durables.reputationEvidence, evidenceEarned.subject],
    [durables.reputationAgents, agentChanged.subject],
    [durables.secretsApprovals, 'evt.approvals.approval.*.v1'],
    [durables.verifierCommands, commandRequested.subject],
  ]),
]

const fixedConsumer = (spec: ConsumerSpec): Partial<ConsumerConfig> => ({
  durable_name: spec.durable,
  filter_subject: spec.filter,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(CONSUMER_ACK_WAIT_MS),
  max_deliver: -1,
  max_ack_pending: 10_000,
})

/** The consumer of one lane of a queue: the order of the lane and the timer of its leases. */
export const laneConsumerConfig = (name: string, filter: string): Partial<ConsumerConfig> => ({
  durable_name: name,
  filter_subject: filter,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(PULL_ACK_WAIT_MS),
  max_deliver: -1,
  max_ack_pending: -1,
  max_waiting: 4_096,
})

export const allStreams: readonly StreamSpec[] = [
  ...streamSpecs,
  ...bucketSpecs.map(bucketStream),
  bodyStream,
]

interface TopologyOptions {
  /** 1 on a single server, 3 in a cluster. */
  readonly replicas?: number
  /** Of each server's disk, for all streams together. The server sets it aside at once. */
  readonly storage_bytes?: number
}

const applyStream = async (
  bus: Bus,
  { share, ...spec }: StreamSpec,
  { replicas = 1, storage_bytes = STORAGE_DEFAULT_BYTES }: TopologyOptions,
): Promise<void> => {
  const config = {
    storage: StorageType.File,
    num_replicas: replicas,
    max_bytes: Math.floor((storage_bytes * share) / 100),
    ...spec,
  }
  let stored: StreamInfo
  try {
    stored = await bus.jsm.streams.info(spec.name)
  } catch (error) {
    if (!isStreamNotFound(error)) throw error
    await bus.jsm.streams.add(config)
    return
  }
  // A server of 2.9 would drop the oldest, whatever the stream says of discarding.
  if (stored.state.bytes > config.max_bytes) {
    throw new Error(`it holds ${stored.state.bytes} bytes, more than ${config.max_bytes}`)
  }
  // The server refuses what cannot be changed in place, and says which setting it is.
  await bus.jsm.streams.update(spec.name, config)
}

const applyConsumer = async (bus: Bus, spec: ConsumerSpec): Promise<void> => {
  const config = fixedConsumer(spec)
  try {
    await bus.jsm.consumers.info(spec.stream, spec.durable)
  } catch (error) {
    if (!isConsumerNotFound(error)) throw error
    await bus.jsm.consumers.add(spec.stream, config)
    return
  }
  await bus.jsm.consumers.update(spec.stream, spec.durable, config)
}

/**
 * While the first message of the stream is the next one of a lane, nats-server counts the subjects
 * of that lane anew at each pull, and a claim costs the more the longer its queue is. A message in
 * front of all lanes spares that.
 */
const ensureWorkGuard = async (bus: Bus): Promise<void> => {
  await publish(bus, workGuard, new Uint8Array(), { expect_new_subject: true })
}

/** Creates what is missing and updates what may change. Throws, naming it, where it may not. */
export const applyTopology = async (bus: Bus, options: TopologyOptions = {}): Promise<void> => {
  for (const spec of allStreams) {
    try {
      await applyStream(bus, spec, options)
    } catch (cause) {
      throw new Error(`stream ${spec.name} cannot be brought to its declared form`, { cause })
    }
  }
  for (const spec of consumerSpecs) {
    try {
      await applyConsumer(bus, spec)
    } catch (cause) {
      throw new Error(`consumer ${spec.durable} cannot be brought to its declared form`, { cause })
    }
  }
  await ensureWorkGuard(bus)
}

/** For services, which may not create anything: throws with all that is missing. */
export const verifyTopology = async (bus: Bus): Promise<void> => {
  const missing: string[] = []
  for (const { name } of allStreams) {
    await bus.jsm.streams.info(name).catch((error: unknown) => {
      if (!isStreamNotFound(error)) throw error
      missing.push(`stream ${name}`)
    })
  }
  for (const { stream, durable } of consumerSpecs) {
    if (missing.includes(`stream ${stream}`)) continue
    await bus.jsm.consumers.info(stream, durable).catch((error: unknown) => {
      if (!isConsumerNotFound(error)) throw error
      missing.push(`consumer ${durable}`)
    })
  }
  if (missing.length > 0) {
    throw new Error(`the bus is not provisioned: missing ${missing.join(', ')}; run provision`)
  }
}
