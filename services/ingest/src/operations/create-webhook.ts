import type { Handler } from '@guildhall/bus'
import {
  type createWebhook,
  type InputOf,
  newWebhookId,
  type Principal,
  QueueName,
  ServiceError,
  SourceType,
  type WebhookWithSecret,
} from '@guildhall/contracts'
import { addToOutbox, transaction } from '@guildhall/db'
import { keyedCall, type Scope, scopeOf } from '../caller.ts'
import type { Deps } from '../deps.ts'
import { publishChanges, WEBHOOK_CHANGED } from '../project-webhook.ts'
import { sources } from '../sources/index.ts'
import { answerOnce } from '../store/answers.ts'
import { countUnderLock, insertWebhook, replaceSecret, replaceUrl } from '../store/webhooks.ts'
import { checkedSecret, missingSecretWarning, newUrl, secretFor } from '../webhook-credentials.ts'

/** A human has no ceiling of their own; a script that runs wild has to end somewhere. */
export const HUMAN_WEBHOOKS_MAX = 1_000

/** Held back for deliveries that a person must look at first. */
const RESERVED_QUEUE = 'quarantine'

interface Checked {
  readonly source_type: SourceType
  readonly target_queue: string
  readonly signing_secret: string | undefined
}

/** In this order, so that a caller beyond its ceiling learns nothing but that. */
const checkCreate = (principal: Principal, input: InputOf<typeof createWebhook>): Checked => {
  const { target_queue } = input
  if (input.source_type === '') throw new ServiceError('invalid_argument', 'source_type: is empty')
  if (!QueueName.safeParse(target_queue).success) {
    throw new ServiceError('invalid_argument', 'target_queue: 1 to 64 of A-Z a-z 0-9 _ -')
  }
  if (target_queue === RESERVED_QUEUE) {
    throw new ServiceError('invalid_argument', `target_queue: "${RESERVED_QUEUE}" is reserved`)
  }
  const known = SourceType.safeParse(input.source_type)
  const scope = principal.kind === 'agent' ? principal.scope : undefined
  if (scope !== undefined && !(known.success && scope.webhook_source_types.includes(known.data))) {
    throw new ServiceError(
      'forbidden_source_type',
      `this endpoint may have webhooks of: ${scope.webhook_source_types.join(', ') || 'no type'}`,
    )
  }
  if (!known.success) {
    throw new ServiceError(
      'invalid_argument',
      `source_type: one of ${SourceType.options.join(', ')}`,
    )
  }
  if (scope !== undefined && !scope.webhook_queues.includes(target_queue)) {
    throw new ServiceError(
      'forbidden',
      `this endpoint may not have webhooks into "${target_queue}"`,
    )
  }
  const signing_secret = checkedSecret(known.data, input.signing_secret)
  return { source_type: known.data, target_queue, signing_secret }
}

export const createWebhookHandler =
  (deps: Deps): Handler<typeof createWebhook> =>
  async (ctx, input) => {
    const scope = scopeOf(ctx.principal)
    const { principal } = ctx
    const max = principal.kind === 'agent' ? principal.scope.webhook_max : HUMAN_WEBHOOKS_MAX
    const checked = checkCreate(principal, input)
    const call = keyedCall(ctx, 'create_webhook', input)
    const now_ms = deps.clock.now()
    const answer = await transaction(deps.db, (trx) =>
      answerOnce(trx, deps.sealer, call, now_ms, async () => {
        if ((await countUnderLock(trx, scope)) >= max) {
          throw new ServiceError('ceiling_exceeded', `${max} webhooks are the most you may have`)
        }
        return await insert(deps, trx, scope, checked, now_ms)
      }),
    )
    await publishChanges(deps)
    return answer
  }

type Trx = Parameters<typeof insertWebhook>[0]

const insert = async (
  deps: Deps,
  trx: Trx,
  { owner_id, endpoint_id }: Scope,
  { source_type, target_queue, signing_secret }: Checked,
  now_ms: number,
): Promise<WebhookWithSecret> => {
  const webhook_id = newWebhookId(now_ms)
  const url = newUrl(deps, webhook_id)
  const { secret, minted } = secretFor(source_type, signing_secret)
  await insertWebhook(trx, { webhook_id, owner_id, endpoint_id, source_type, target_queue }, now_ms)
  await replaceUrl(trx, { webhook_id, ...url }, now_ms, now_ms)
  if (secret !== undefined) {
    const sealed = deps.sealer.seal(secret, { id: webhook_id, purpose: 'signing_secret' })
    await replaceSecret(trx, webhook_id, sealed, now_ms, now_ms)
  }
  await addToOutbox(trx, { subject: WEBHOOK_CHANGED, key: webhook_id, payload: { webhook_id } })
  const { trust_mode } = sources[source_type]
  return {
    webhook_id,
    ingest_url: url.ingest_url,
    source_type,
    target_queue,
    trust_mode,
    ...(minted === undefined ? {} : { signing_secret: minted }),
    ...(trust_mode === 'signed' && secret === undefined
      ? { warning: missingSecretWarning(source_type) }
      : {}),
  }
}
