import type { bind } from '@guildhall/bus'
import {
  EndpointId,
  type ErrorCode,
  holderName,
  type Principal,
  ServiceError,
} from '@guildhall/contracts'
import type { Deps } from './deps.ts'
import { addAudit } from './store/audit-log.ts'

/**
 * What was refused is on record as well: after the refusal rolled back, in a transaction of its
 * own. Only who, what kind of refusal and which ids; never another word of the input, which may be
 * a secret or anything else.
 */

type Binding = ReturnType<typeof bind>

const RECORDED: ReadonlySet<ErrorCode> = new Set(['forbidden', 'conflict', 'not_found'])

/** In this order: the first that the input has is what the row is about. */
const OBJECTS = [
  'approval_id',
  'message_id',
  'channel_id',
  'to_agent_id',
  'agent_id',
  'task_id',
  'parent_task_id',
  'goal_id',
  'endpoint_id',
] as const

const isId = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isSafeInteger(value) : EndpointId.safeParse(value).success

/** Fields of that name that hold an id indeed: a string put there instead could be anything. */
const idsIn = (input: unknown): Record<string, unknown> =>
  typeof input !== 'object' || input === null
    ? {}
    : Object.fromEntries(
        OBJECTS.flatMap((name) => {
          const value: unknown = Object.entries(input).find(([field]) => field === name)?.[1]
          return isId(value) ? [[name, value]] : []
        }),
      )

const objectOf = (ids: Readonly<Record<string, unknown>>): string => {
  const [first] = Object.entries(ids)
  if (first === undefined) return '-'
  const [name, id] = first
  return `${name.replace(/^(to_|parent_)|_id$/g, '')}:${id}`
}

const record = async (
  { db, clock }: Deps,
  { op }: Binding,
  principal: Principal,
  request_id: string,
  input: unknown,
  error: ServiceError,
): Promise<void> => {
  const ids = idsIn(input)
  const named = error.details?.error
  await addAudit(db, {
    at: new Date(clock.now()),
    user_id: principal.user_id,
    actor: holderName(principal),
    action: `${op.name}.refused`,
    object: objectOf(ids),
    details: { code: error.code, ...(typeof named === 'string' ? { error: named } : {}), ...ids },
    request_id,
  })
}

/** The same operation; a refusal of it leaves a row behind. Reads change nothing, so they do not. */
export const recordingDenials = (deps: Deps, binding: Binding): Binding =>
  binding.op.access === 'read'
    ? binding
    : {
        op: binding.op,
        run: async (principal, ctx, input) => {
          try {
            return await binding.run(principal, ctx, input)
          } catch (error) {
            if (
              principal !== undefined &&
              error instanceof ServiceError &&
              RECORDED.has(error.code)
            ) {
              // The caller is told of the refusal in any case; that it is not on record is for the log.
              await record(deps, binding, principal, ctx.request_id, input, error).catch(
                (err: unknown) => deps.log.error({ err }, 'a refusal could not be recorded'),
              )
            }
            throw error
          }
        },
      }
