import {
  type callWithSecret,
  type OutputOf,
  SECRET_CALL_REDIRECTS_MAX,
  ServiceError,
} from '@guildhall/contracts'
import type { Reach } from '../access.ts'
import type { Deps } from '../deps.ts'
import { findWithinReach, type SecretRow, useSecret } from '../store/secrets.ts'
import { checkedAddresses } from './addresses.ts'
import { exchange, type RawAnswer } from './exchange.ts'
import { createScrubber, type Scrubber } from './scrub.ts'
import { shownAnswer } from './shown-answer.ts'
import { isListed, redirectTarget } from './target.ts'
import { fillTemplate, redirected, type Template } from './template.ts'

/**
 * The call itself, hop by hop. For each hop everything is decided anew: the host against the
 * secret's list, its addresses, and last, just before it is sent, whether the secret still is one.
 */

interface Sending {
  readonly reach: Reach
  readonly name: string
  readonly signal: AbortSignal
  /** Called when something may have reached a host. */
  readonly onSent: () => void
  /** Called once host and addresses of the first hop are known to be allowed. */
  readonly beforeFirst: (host: string) => Promise<void>
}

const noSecret = (name: string): ServiceError =>
  new ServiceError('not_found', `no secret ${name} is available to you`, {
    what_to_do: 'See list_resources; ask your owner for it with request_resource.',
  })

const notListed = (name: string): ServiceError =>
  new ServiceError('forbidden', `${name} must not be sent to this host`, {
    what_to_do: 'Ask your owner to add the host to those of the secret.',
  })

/** Waits for the work, but not longer than the whole call may take. */
const inTime = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  let give_up: (() => void) | undefined
  const over = new Promise<never>((_resolve, reject) => {
    give_up = () => reject(new ServiceError('unavailable', 'the host could not be found in time'))
    signal.addEventListener('abort', give_up)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    if (give_up !== undefined) signal.removeEventListener('abort', give_up)
  }
}

interface Hop {
  readonly raw: RawAnswer
  readonly scrubber: Scrubber
}

/** One request with the secret in it. Undefined when the secret was revoked meanwhile. */
const sendHop = async (
  deps: Deps,
  template: Template,
  secret: SecretRow,
  { name, signal, onSent }: Sending,
  addresses: Parameters<typeof exchange>[0]['addresses'],
): Promise<Hop | undefined> => {
  const { db, clock, vault, calls, log } = deps
  const used = await useSecret(db, secret, new Date(clock.now()))
  if (used === undefined) return undefined
  const value = (() => {
    try {
      return vault.open(used, used)
    } catch (err) {
      log.error({ err, secret_id: secret.secret_id }, 'a sealed secret does not open')
      throw new ServiceError('unavailable', `${name} cannot be used at the moment`)
    }
  })()
  const scrubber = createScrubber(name, value)
  try {
    const filled = fillTemplate(template, name, value.toString('utf8'))
    const { target, method } = template
    const { extra_ca } = calls
    const raw = await exchange({ target, method, filled, addresses, extra_ca, signal, onSent })
    return { raw, scrubber }
  } catch (error) {
    scrubber.close()
    throw error
  } finally {
    value.fill(0)
  }
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

const locationOf = ({ headers }: RawAnswer): string | undefined =>
  headers.find(([name]) => name === 'location')?.[1]

/** The next hop, if it is one that the secret may go to. Else the redirect itself is the answer. */
const nextHop = (
  template: Template,
  raw: RawAnswer,
  secret: SecretRow,
  extra_ports: readonly number[],
): Template | undefined => {
  const location = isRedirect(raw.status) ? locationOf(raw) : undefined
  if (location === undefined) return undefined
  const target = redirectTarget(template.target, location, extra_ports)
  if (target === undefined || !isListed(target.host, secret.hosts)) return undefined
  return redirected(template, raw.status, target)
}

const resolved = (deps: Deps, template: Template, signal: AbortSignal) => {
  const { resolve, allowed_addresses } = deps.calls
  return inTime(checkedAddresses(resolve, template.target.host, allowed_addresses), signal)
}

const answerOf = async ({ raw, scrubber }: Hop) => {
  try {
    return await shownAnswer(scrubber, raw)
  } finally {
    scrubber.close()
  }
}

export const sendCall = async (
  deps: Deps,
  first: Template,
  sending: Sending,
): Promise<OutputOf<typeof callWithSecret>> => {
  const { reach, name, signal, beforeFirst } = sending
  const { extra_ports } = deps.calls
  const secret = await findWithinReach(deps.db, reach, name)
  if (secret === undefined) throw noSecret(name)
  if (!isListed(first.target.host, secret.hosts)) throw notListed(name)
  const addresses = await resolved(deps, first, signal)
  await beforeFirst(first.target.host)
  let hop = await sendHop(deps, first, secret, sending, addresses)
  if (hop === undefined) throw noSecret(name)
  let template = first
  for (let followed = 0; followed < SECRET_CALL_REDIRECTS_MAX; followed += 1) {
    const next = nextHop(template, hop.raw, secret, extra_ports)
    if (next === undefined) break
    // Refused here: the host that redirected acted on the call, and its answer says so.
    const next_addresses = await resolved(deps, next, signal).catch(() => undefined)
    if (next_addresses === undefined) break
    const further = await sendHop(deps, next, secret, sending, next_addresses)
    if (further === undefined) break
    hop.scrubber.close()
    hop = further
    template = next
  }
  return await answerOf(hop)
}
