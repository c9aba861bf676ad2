import { type Notice, noticePosted, type SecretChanged, secretChanged } from '@guildhall/contracts'
import { addToOutbox, type Trx } from '@guildhall/db'
import type { Deps } from './deps.ts'

/** What a change tells the rest of the system: rows of the outbox, in its transaction. Never a value. */

const notice = noticePosted('secrets')

type Change = Omit<SecretChanged, 'v'>

/** What is told about one secret keeps its order, over all its versions. */
const outboxKey = ({ user_id, scope_type, scope_id, name }: Omit<Change, 'change' | 'at'>) =>
  `${user_id}.${scope_type}.${scope_id}.${name}`

export const announceChange = async (trx: Trx, event: Change): Promise<void> => {
  await addToOutbox(trx, {
    subject: secretChanged.subject,
    key: outboxKey(event),
    payload: secretChanged.schema.parse({ v: 1, ...event }),
  })
}

export const announceRevokedInUse = async (
  trx: Trx,
  {
    user_id,
    goal_id,
    task_id,
    name,
    at,
  }: {
    readonly user_id: number
    readonly goal_id: number
    readonly task_id: number
    readonly name: string
    readonly at: number
  },
): Promise<void> => {
  const payload: Notice = {
    v: 1,
    user_id,
    to: { kind: 'goal', goal_id },
    body: `The secret ${name} of task ${task_id} was revoked while the task is being worked on. Calls that need it will fail from now on.`,
    metadata: { kind: 'secret_revoked', task_id, name },
    at,
  }
  await addToOutbox(trx, {
    subject: notice.subject,
    key: outboxKey({ user_id, scope_type: 'task', scope_id: task_id, name }),
    payload: notice.schema.parse(payload),
  })
}

/** Sends on at once what was just committed. If that fails the change stands, and the relay goes on. */
export const publishChanges = async ({
  relay,
  log,
}: Pick<Deps, 'relay' | 'log'>): Promise<void> => {
  await relay.flush().catch((err: unknown) => log.warn({ err }, 'a change is announced later'))
}
