// Who may say and hear what on the bus: the one table, for development and production alike.
// A row lists what a service does; the subjects that this takes are derived below.

type Access = 'read' | 'write'

interface BusAccess {
  /** Services whose `rpc.<service>.>` it calls. */
  calls?: readonly string[]
  publishes?: readonly string[]
  subscribes?: readonly string[]
  /** Durable consumers of a stream that were made for it. */
  consumes?: Readonly<Record<string, readonly string[]>>
  /** Streams on which it makes consumers itself, and removes messages. */
  manages?: readonly string[]
  /** Streams of which it reads single messages. */
  reads?: readonly string[]
  buckets?: Readonly<Record<string, Access>>
  objects?: Readonly<Record<string, Access>>
}

const BUS_ACCESS: Readonly<Record<string, BusAccess>> = {
  'mcp-gateway': {
    calls: ['*'],
    publishes: ['rung.>'],
    subscribes: ['doorbell.>'],
    buckets: { identity: 'read', lanes: 'read', sessions: 'write', rates: 'write' },
    objects: { bodies: 'read' },
  },
  ingest: {
    publishes: ['deliveries.>', 'evt.ingest.>', 'dead.0.ingest-history.>'],
    consumes: { DELIVERIES: ['ingest-history'] },
    reads: ['DELIVERIES'],
    buckets: { webhooks: 'write', identity: 'read' },
    objects: { bodies: 'write' },
  },
  tasks: {
    publishes: ['work.>', 'doorbell.>', 'evt.tasks.>', 'dead.>'],
    subscribes: ['doorbell.>', 'rung.>'],
    consumes: {
      DELIVERIES: ['tasks-deliveries'],
      EVENTS: ['tasks-endpoint-revoked', 'tasks-approvals', 'tasks-commands'],
      KV_work: ['tasks-projection'],
    },
    manages: ['WORK'],
    reads: ['DELIVERIES', 'WORK', 'DEAD'],
    buckets: {
      work: 'write',
      lanes: 'write',
      claim_keys: 'write',
      goals: 'write',
      agents: 'read',
      standing: 'read',
    },
    objects: { bodies: 'write' },
  },
  approvals: {
    publishes: ['evt.approvals.>', 'dead.0.>'],
    consumes: {
      EVENTS: [
        'approvals-trees',
        'approvals-goals',
        'approvals-tasks',
        'approvals-notices',
        'approvals-standing',
        'approvals-secrets',
      ],
    },
    buckets: { identity: 'write', agents: 'write', goals: 'read', work: 'read' },
  },
  reputation: {
    publishes: ['evt.reputation.>', 'dead.0.>'],
    consumes: { EVENTS: ['reputation-evidence', 'reputation-agents'] },
    buckets: { standing: 'write', agents: 'read' },
  },
  secrets: {
    publishes: ['evt.secrets.>', 'dead.0.>'],
    consumes: { EVENTS: ['secrets-approvals'] },
    buckets: { agents: 'read', goals: 'read', work: 'read', standing: 'read' },
  },
  // Runs commands that agents wrote: it hears what to run, says how it ended, and sees nothing else.
  verifier: {
    publishes: ['evt.verifier.>', 'dead.0.verifier-commands.>'],
    consumes: { EVENTS: ['verifier-commands'] },
  },
}

/** Makes the topology and operates it; no service runs as this user. */
export const ADMIN_USER = 'admin'

export const NATS_USERS: readonly string[] = [ADMIN_USER, ...Object.keys(BUS_ACCESS)]

/** The client option `inboxPrefix`: services cannot read each other's replies. */
export const inboxPrefix = (service: string): string => `_INBOX_${service}`

interface Permissions {
  publish: readonly string[]
  /** Although `publish` allows it. */
  deny: readonly string[]
  subscribe: readonly string[]
}

const usesConsumers = ([stream, durables]: [string, readonly string[]]): string[] =>
  durables.flatMap((durable) => [
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
    `$JS.ACK.${stream}.${durable}.>`,
  ])

/** Also for ordered consumers (watches, object reads), which the client makes and removes. */
const makesConsumers = (stream: string): string[] => [
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.>`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`,
  `$JS.API.CONSUMER.DELETE.${stream}.*`,
  `$JS.FC.${stream}.>`,
]

/** Whoever reads a bucket makes consumers on its stream, under names that no pattern tells from these. */
const durablesOfOthers = (service: string, { buckets = {} }: BusAccess): string[] =>
  Object.entries(BUS_ACCESS)
    .filter(([other]) => other !== service)
    .flatMap(([, { consumes = {} }]) =>
      Object.keys(buckets).flatMap((bucket) =>
        (consumes[`KV_${bucket}`] ?? []).flatMap((durable) => [
          `$JS.API.CONSUMER.CREATE.KV_${bucket}.${durable}`,
          `$JS.API.CONSUMER.CREATE.KV_${bucket}.${durable}.>`,
          `$JS.API.CONSUMER.DURABLE.CREATE.KV_${bucket}.${durable}`,
          `$JS.API.CONSUMER.DELETE.KV_${bucket}.${durable}`,
        ]),
      ),
    )

const managesStream = (stream: string): string[] => [
  ...makesConsumers(stream),
  `$JS.API.CONSUMER.NAMES.${stream}`,
  `$JS.API.CONSUMER.LIST.${stream}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  `$JS.ACK.${stream}.>`,
  `$JS.API.STREAM.MSG.DELETE.${stream}`,
]

const readsMessages = (stream: string): string[] => [
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
]

const usesBucket = ([bucket, access]: [string, Access]): string[] => [
  ...readsMessages(`KV_${bucket}`),
  ...makesConsumers(`KV_${bucket}`),
  // Forgetting a key purges its subject.
  ...(access === 'write' ? [`$KV.${bucket}.>`, `$JS.API.STREAM.PURGE.KV_${bucket}`] : []),
]

const usesObjects = ([store, access]: [string, Access]): string[] => [
  ...readsMessages(`OBJ_${store}`),
  ...makesConsumers(`OBJ_${store}`),
  // Replacing or deleting an object purges the chunks of the old one.
  ...(access === 'write' ? [`$O.${store}.>`, `$JS.API.STREAM.PURGE.OBJ_${store}`] : []),
]

const allowed = (service: string, access: BusAccess): Permissions => ({
  publish: [
    // At its start each service checks that all of the topology is there, and the client looks up
    // the stream of an object store. Names and counts only.
    '$JS.API.INFO',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.INFO.*',
    '$JS.API.CONSUMER.INFO.*.*',
    ...(access.calls ?? []).map((callee) => `rpc.${callee}.>`),
    ...(access.publishes ?? []),
    ...Object.entries(access.consumes ?? {}).flatMap(usesConsumers),
    ...(access.manages ?? []).flatMap(managesStream),
    ...(access.reads ?? []).flatMap(readsMessages),
    ...Object.entries(access.buckets ?? {}).flatMap(usesBucket),
    ...Object.entries(access.objects ?? {}).flatMap(usesObjects),
  ],
  deny: durablesOfOthers(service, access),
  subscribe: [
    `${inboxPrefix(service)}.>`,
    `rpc.${service}.>`,
    // The NATS services API: `nats micro ls` finds each service under its own subjects.
    '$SRV.>',
    ...(access.subscribes ?? []),
  ],
})

export const permissionsOf = (user: string): Permissions => {
  if (user === ADMIN_USER) return { publish: ['>'], deny: [], subscribe: ['>'] }
  const access = BUS_ACCESS[user]
  if (access === undefined) throw new Error(`no row for ${user} in nats-permissions.ts`)
  const { publish, deny, subscribe } = allowed(user, access)
  return { publish: [...new Set(publish)], deny, subscribe: [...new Set(subscribe)] }
}
