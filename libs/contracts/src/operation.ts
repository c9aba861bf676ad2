import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Principal } from './principal.ts'

export type ServiceName =
  | 'mcp-gateway'
  | 'ingest'
  | 'tasks'
  | 'approvals'
  | 'reputation'
  | 'secrets'

/** `read` changes nothing; `write` does and takes an idempotency key. */
export type Access = 'read' | 'write'

export type ToolFamily =
  | 'todos'
  | 'lease'
  | 'webhooks'
  | 'events'
  | 'identity'
  | 'goals'
  | 'approvals'
  | 'channels'
  | 'agents'
  | 'reputation'
  | 'secrets'

/** A REST route. `{name}` in the path is taken from the input's field of that name. */
export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Input fields that the route itself decides, which a request may not send. */
  readonly fixed?: Readonly<Record<string, string>>
  /**
   * The answer is the array in this field of the output, and `next_cursor` travels in the header
   * X-Next-Cursor: for routes whose contract is a bare array.
   */
  readonly list?: string
}

/**
 * The single definition of a call. Everything else is derived from it: the MCP tool, the REST
 * route, the subject on the bus, validation on both sides, handler types, JSON Schemas and docs.
 */
export interface Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  N extends string = string,
> {
  readonly service: ServiceName
  readonly name: N
  readonly family: ToolFamily
  readonly access: Access
  readonly summary: string
  readonly input: I
  readonly output: O
  readonly errors: readonly ErrorCode[]
  /** Offered to agents as an MCP tool of the same name. */
  readonly tool: boolean
  /** The grant that admits an agent, when it is not the tool's own name (get_todo: list_todos). */
  readonly grant?: string
  /** Only humans may call it, whatever an endpoint is granted. */
  readonly human_only?: boolean
  /** Part of what an endpoint gets when its owner does not choose. */
  readonly default_grant?: boolean
  /** How long an answer may take, where that is more than RPC_TIMEOUT_MS. */
  readonly answer_ms?: number
  /** REST for humans. */
  readonly http?: HttpRoute | readonly HttpRoute[]
}

export const operation = <I extends z.ZodType, O extends z.ZodType, N extends string>(
  definition: Operation<I, O, N>,
): Operation<I, O, N> => definition

export type InputOf<Op> = Op extends Operation<infer I, z.ZodType> ? z.output<I> : never
export type OutputOf<Op> = Op extends Operation<z.ZodType, infer O> ? z.output<O> : never

export const grantOf = (op: Operation): string => op.grant ?? op.name

/** The one answer to "may this caller use this operation at all?". Object checks come after it. */
export const mayCall = (principal: Principal, op: Operation): boolean =>
  principal.kind === 'human' ||
  (op.human_only !== true && principal.scope.tools.includes(grantOf(op)))

export const routesOf = ({ http }: Operation): readonly HttpRoute[] =>
  http === undefined ? [] : 'method' in http ? [http] : http
