import { Approval, type ApprovalKind, ApprovalRow, type ApprovalStatus } from '@guildhall/contracts'
import { type Bindings, type Connection, firstRow, rowsOf } from '@guildhall/db'

/** Rows are Approvals as the contract has them, with what only this service needs beside it. */
export interface StoredApproval extends Approval {
  readonly user_id: number
  readonly resource_name: string | null
  readonly round: number
}

const FIELDS = [...Object.keys(Approval.shape), 'user_id', 'resource_name', 'round'].join(', ')

export interface ApprovalKey {
  readonly user_id: number
  readonly approval_id: number
}

const THIS = 'user_id = :user_id and approval_id = cast(:approval_id as bigint)'

export const reserveApprovalId = async (db: Connection): Promise<number> => {
  const row = await firstRow<{ approval_id: number }>(
    db,
    "select nextval(pg_get_serial_sequence('approvals', 'approval_id')) as approval_id",
    {},
  )
  if (row === undefined) throw new Error('a sequence returned no row')
  return row.approval_id
}

interface NewApproval extends ApprovalKey {
  readonly kind: ApprovalKind
  readonly title: string
  readonly requested_by_agent_id: number | null
  readonly requested_by: string
  readonly goal_id: number | null
  readonly task_id: number | null
  readonly resource_name: string | null
  readonly channel_id: number
  readonly message_id: number
  readonly payload: Readonly<Record<string, unknown>>
  readonly digest: string
  readonly warnings: readonly string[]
  readonly created_at: Date
  readonly expires_at: Date
}

/** Undefined when one like it is open already. */
export const insertApproval = (
  db: Connection,
  { payload, ...approval }: NewApproval,
): Promise<StoredApproval | undefined> => {
  const values: Bindings = {
    ...approval,
    payload: JSON.stringify(payload),
    status: 'pending' satisfies ApprovalStatus,
  }
  const columns = Object.keys(values)
  return firstRow(
    db,
    `insert into approvals (${columns.join(', ')})
     values (${columns.map((column) => `:${column}`).join(', ')})
     on conflict do nothing
     returning ${FIELDS}`,
    values,
  )
}

export const findApproval = (
  db: Connection,
  key: ApprovalKey,
): Promise<StoredApproval | undefined> =>
  firstRow(db, `select ${FIELDS} from approvals where ${THIS}`, { ...key })

/** Decisions on one approval follow each other here. */
export const lockApproval = (
  db: Connection,
  key: ApprovalKey,
): Promise<StoredApproval | undefined> =>
  firstRow(db, `select ${FIELDS} from approvals where ${THIS} for update`, { ...key })

interface ResourceKey {
  readonly user_id: number
  readonly agent_id: number
  readonly resource_name: string
  readonly task_id: number
}

export const findPendingResource = (
  db: Connection,
  key: ResourceKey,
): Promise<StoredApproval | undefined> =>
  firstRow(
    db,
    `select ${FIELDS} from approvals
     where user_id = :user_id and requested_by_agent_id = :agent_id
       and resource_name = :resource_name and task_id = cast(:task_id as bigint)
       and kind = 'resource' and status = 'pending'`,
    { ...key },
  )

export const countPendingOf = async (
  db: Connection,
  key: { readonly user_id: number; readonly agent_id: number },
): Promise<number> => {
  const row = await firstRow<{ pending: number }>(
    db,
    `select count(*) as pending from approvals
     where user_id = :user_id and requested_by_agent_id = :agent_id and status = 'pending'`,
    { ...key },
  )
  return row?.pending ?? 0
}

interface Settlement {
  readonly status: Exclude<ApprovalStatus, 'pending'>
  readonly decided_at: Date
  readonly decided_by_user_id: number | null
  readonly reason?: string | null
  readonly approved_payload?: Readonly<Record<string, unknown>> | null
  readonly approved_digest?: string | null
  readonly effect?: Readonly<Record<string, unknown>> | null
}

const json = (value: Readonly<Record<string, unknown>> | null): string | null =>
  value === null ? null : JSON.stringify(value)

const SETTLED = `status = :status, decided_at = :decided_at,
  decided_by_user_id = :decided_by_user_id, reason = :reason,
  approved_payload = cast(:approved_payload as jsonb), approved_digest = :approved_digest,
  effect = cast(:effect as jsonb), failure = null, round = round + 1`

const settledBindings = ({
  reason = null,
  approved_payload = null,
  approved_digest = null,
  effect = null,
  ...settlement
}: Settlement): Bindings => ({
  ...settlement,
  reason,
  approved_digest,
  approved_payload: json(approved_payload),
  effect: json(effect),
})

/** Undefined when it is pending no longer. */
export const settlePending = (
  db: Connection,
  { user_id, approval_id }: ApprovalKey,
  settlement: Settlement,
): Promise<StoredApproval | undefined> =>
  firstRow(
    db,
    `update approvals set ${SETTLED} where ${THIS} and status = 'pending' returning ${FIELDS}`,
    { ...settledBindings(settlement), user_id, approval_id },
  )

/** All that an agent has pending; the ceiling per agent bounds them. */
export const settlePendingOf = (
  db: Connection,
  key: { readonly user_id: number; readonly agent_id: number },
  settlement: Settlement,
): Promise<StoredApproval[]> =>
  rowsOf(
    db,
    `update approvals set ${SETTLED}
     where user_id = :user_id and requested_by_agent_id = :agent_id and status = 'pending'
     returning ${FIELDS}`,
    { ...settledBindings(settlement), ...key },
  )

/** Why the owner's approval could not be carried out just now. */
export const noteFailure = (
  db: Connection,
  { user_id, approval_id }: ApprovalKey,
  failure: string,
): Promise<StoredApproval | undefined> =>
  firstRow(
    db,
    `update approvals set failure = :failure where ${THIS} and status = 'pending'
     returning ${FIELDS}`,
    { user_id, approval_id, failure },
  )

interface Round extends ApprovalKey {
  readonly round: number
}

/** Undefined when this round is over, or was never approved. */
export const executeApproved = (
  db: Connection,
  { effect, ...round }: Round & { readonly effect: Readonly<Record<string, unknown>> },
): Promise<StoredApproval | undefined> =>
  firstRow(
    db,
    `update approvals set status = 'executed', effect = cast(:effect as jsonb)
     where ${THIS} and status = 'approved' and round = :round
     returning ${FIELDS}`,
    { ...round, effect: JSON.stringify(effect) },
  )

/** The owner has to decide again, and has the whole time for it. */
export const reopenApproved = (
  db: Connection,
  reopened: Round & { readonly failure: string; readonly expires_at: Date },
): Promise<StoredApproval | undefined> =>
  firstRow(
    db,
    `update approvals set status = 'pending', failure = :failure, expires_at = :expires_at,
       decided_at = null, decided_by_user_id = null, reason = null,
       approved_payload = null, approved_digest = null
     where ${THIS} and status = 'approved' and round = :round
     returning ${FIELDS}`,
    { ...reopened },
  )

type SecretPlace = {
  readonly user_id: number
  readonly resource_name: string
  readonly scope_type: 'user' | 'agent' | 'task'
  readonly scope_id: number
}

const COVERED = {
  user: 'user_id = cast(:scope_id as bigint)',
  agent: 'requested_by_agent_id = cast(:scope_id as bigint)',
  task: 'task_id = cast(:scope_id as bigint)',
} as const

/** Requests that wait for this secret, where its scope covers whoever asked. A page of them. */
export const pendingRequestsFor = (
  db: Connection,
  place: SecretPlace,
  limit: number,
): Promise<ApprovalKey[]> =>
  rowsOf(
    db,
    `select user_id, approval_id from approvals
     where user_id = :user_id and kind = 'resource' and status = 'pending'
       and resource_name = :resource_name and ${COVERED[place.scope_type]}
     order by approval_id limit :limit for update skip locked`,
    { ...place, limit },
  )

/** Pending ones whose time is over, over all owners; for the reconciler alone. */
export const overdueApprovals = (
  db: Connection,
  now: Date,
  limit: number,
): Promise<ApprovalKey[]> =>
  rowsOf(
    db,
    `select user_id, approval_id from approvals
     where status = 'pending' and expires_at <= :now
     order by expires_at limit :limit for update skip locked`,
    { now, limit },
  )

interface Reminder {
  /** How many reminders this one makes. */
  readonly number: number
  /** Pending since then. */
  readonly created_before: Date
  readonly now: Date
  readonly limit: number
}

/** Counts a reminder on each approval that is due for it, over all owners. */
export const countReminder = (db: Connection, reminder: Reminder): Promise<StoredApproval[]> =>
  rowsOf(
    db,
    `update approvals set reminders = :number where approval_id = any(array(
       select approval_id from approvals
       where status = 'pending' and created_at <= :created_before and reminders < :number
         and expires_at > :now
       order by created_at limit :limit for update skip locked))
       and status = 'pending'
     returning ${FIELDS}`,
    { ...reminder },
  )

interface ApprovalPage {
  readonly user_id: number
  /** Null: the owner, who sees all. */
  readonly agent_id: number | null
  readonly status: ApprovalStatus | null
  readonly kind: ApprovalKind | null
  readonly goal_id: number | null
  readonly before: number | null
  readonly limit: number
}

interface ListedApprovals {
  readonly approvals: ApprovalRow[]
  readonly waiting_on_you: number
}

const ROW_FIELDS = Object.keys(ApprovalRow.shape).join(', ')

/** The page and the count are of one moment, since they are of one statement. */
export const listApprovalsPage = async (
  db: Connection,
  page: ApprovalPage,
): Promise<ListedApprovals> => {
  const mine = `user_id = :user_id ${
    page.agent_id === null ? '' : 'and requested_by_agent_id = cast(:agent_id as bigint)'
  }`
  const rows = await rowsOf<ApprovalRow & { readonly waiting: number }>(
    db,
    `select waiting, page.* from
       (select count(*) as waiting from approvals where ${mine} and status = 'pending') as counted
       left join lateral (
         select ${ROW_FIELDS} from approvals where ${mine}
           ${page.status === null ? '' : 'and status = :status'}
           ${page.kind === null ? '' : 'and kind = :kind'}
           ${page.goal_id === null ? '' : 'and goal_id = cast(:goal_id as bigint)'}
           ${page.before === null ? '' : 'and approval_id < cast(:before as bigint)'}
         order by approval_id desc limit :limit) as page on true
     order by approval_id desc`,
    { ...page },
  )
  return {
    waiting_on_you: rows[0]?.waiting ?? 0,
    // Without any approval there is still the row of the count.
    approvals: rows
      .filter(({ approval_id }) => approval_id !== null)
      .map(({ waiting: _, ...row }) => row),
  }
}
