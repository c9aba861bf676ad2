import { type Bus, consume, decode, durables, publish, type StreamMessage } from '@guildhall/bus'
import {
  type CommandRequested,
  commandFinished,
  commandRequested,
  ServiceError,
  streams,
} from '@guildhall/contracts'
import type { Clock, Logger, Part } from '@guildhall/runtime'
import { enterJail, type Identity, Refused } from './jail.ts'
import { DELIVERIES_MAX, WORKING_EVERY_MS } from './limits.ts'
import { commandsCounter, runningGauge } from './metrics.ts'
import { killOrphans } from './process-tree.ts'
import { Interrupted, runCommand, type Verdict } from './run-command.ts'

interface Foundations {
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
  readonly root: string
  readonly path: string
  readonly identity: Identity | undefined
  readonly at_once: number
}

const refused = (reason: string): Verdict => ({
  outcome: 'refused',
  exit_code: null,
  output: reason,
  output_truncated: false,
})

const judge = async (
  { root, path, identity }: Foundations,
  event: CommandRequested,
  signal: AbortSignal,
): Promise<Verdict> => {
  const { argv, env, timeout_sec } = event
  try {
    const cwd = await enterJail(root, event, identity)
    return await runCommand(
      { argv, cwd, env, timeout_ms: timeout_sec * 1_000 },
      { path, identity, signal },
    )
  } catch (error) {
    if (error instanceof Refused) return refused(error.message)
    throw error
  }
}

/**
 * Runs what tasks asks for and says how it ended. There is no database here, so nothing remembers
 * a run: one that this worker did not survive is run again, and the verdict counts once, by the
 * task and its revision. The answer is on the bus before the question is acknowledged.
 */
const answer = async (
  foundations: Foundations,
  message: StreamMessage,
  signal: AbortSignal,
): Promise<void> => {
  const { bus, clock, log } = foundations
  const event = decode(commandRequested.schema, message.data)
  const { user_id, task_id, revision } = event
  const working = setInterval(() => message.working(), WORKING_EVERY_MS)
  runningGauge.inc()
  const started = performance.now()
  try {
    const verdict =
      message.delivery_count > DELIVERIES_MAX
        ? refused(`given up after ${DELIVERIES_MAX} tries: no worker brought it to an end`)
        : await judge(foundations, event, signal)
    await publish(
      bus,
      commandFinished.subject,
      commandFinished.schema.parse({
        v: 1,
        user_id,
        task_id,
        revision,
        ...verdict,
        at: clock.now(),
      }),
      { msg_id: `command-${task_id}-${revision}` },
    )
    commandsCounter.inc({ outcome: verdict.outcome })
    const { outcome, exit_code } = verdict
    const duration_ms = performance.now() - started
    log.info({ task_id, revision, outcome, exit_code, duration_ms }, 'command finished')
  } catch (cause) {
    if (!(cause instanceof Interrupted)) throw cause
    throw new ServiceError('unavailable', 'this worker stops; another one runs the command', {
      cause,
    })
  } finally {
    clearInterval(working)
    runningGauge.dec()
  }
}

/** The parts in the order in which they start. */
export const composeVerifier = (foundations: Foundations): readonly Part[] => {
  const stopping = new AbortController()
  return [
    {
      name: 'orphans',
      start: async () => {
        const killed = await killOrphans()
        if (killed > 0) foundations.log.warn({ killed }, 'ended what a killed worker had left')
      },
      stop: async () => undefined,
    },
    consume(foundations.bus, {
      stream: streams.events,
      durable: durables.verifierCommands,
      log: foundations.log,
      max_in_flight: foundations.at_once,
      concurrency: foundations.at_once,
      on_demand: true,
      // One more than we try: the last delivery is there to say that we gave up.
      deliveries_max: DELIVERIES_MAX + 2,
      handle: async (messages) => {
        for (const message of messages) await answer(foundations, message, stopping.signal)
      },
    }),
    {
      // Stops before the consumer does, which waits for what it handed out.
      name: 'commands',
      start: async () => undefined,
      stop: async () => stopping.abort(),
    },
  ]
}
