import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Round } from './measure.ts'

/**
 * Load is made in processes of its own, so that neither the servers nor our own bookkeeping share
 * its event loop. A load is a file that calls `serveLoad` with its steps.
 */

/** `never`: a step may take any input; `call` below checks which. */
type Steps = Readonly<Record<string, (input: never) => Promise<unknown>>>

export interface Load<S extends Steps> {
  readonly pid: number
  call<K extends keyof S & string>(
    step: K,
    input: Parameters<S[K]>[0],
  ): Promise<Awaited<ReturnType<S[K]>>>
  stop(): Promise<void>
}

interface Request {
  readonly id: number
  readonly step: string
  readonly input: unknown
}

type Reply =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly error: string }

const stopChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  // The load ends when its channel does, also when this process is killed.
  if (child.connected) child.disconnect()
  const timer = setTimeout(() => child.kill('SIGKILL'), 3_000)
  await ended
  clearTimeout(timer)
}

/** `file`: the name of a compiled load, e.g. 'rpc-claims'. */
export const startLoad = <S extends Steps>(file: string): Load<S> => {
  const path = fileURLToPath(new URL(`./loads/${file}.js`, import.meta.url))
  const child = fork(path, { serialization: 'advanced', execArgv: ['--enable-source-maps'] })
  const waiting = new Map<number, (reply: Reply) => void>()
  let last_id = 0
  child.on('message', (reply: Reply) => {
    waiting.get(reply.id)?.(reply)
    waiting.delete(reply.id)
  })
  child.on('exit', (code, signal) => {
    for (const [id, settle] of waiting) {
      settle({ id, error: `the load ${file} ended (${signal ?? code})` })
    }
    waiting.clear()
  })
  return {
    pid: child.pid ?? -1,
    call: (step, input) =>
      new Promise((resolve, reject) => {
        last_id += 1
        const request: Request = { id: last_id, step, input }
        waiting.set(last_id, (reply) => {
          if ('error' in reply) reject(new Error(`${file} ${step}: ${reply.error}`))
          else resolve(reply.output as never) // what the step of that name returned
        })
        child.send(request)
      }),
    stop: () => stopChild(child),
  }
}

const perform = async (steps: Steps, { id, step, input }: Request): Promise<Reply> => {
  try {
    const run = steps[step]
    if (run === undefined) throw new Error('no such step')
    return { id, output: await run(input as never) } // sent by `call`, which checked it
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

export const serveLoad = (steps: Steps): void => {
  process.on('message', (request: Request) => {
    void perform(steps, request).then((reply) => process.send?.(reply))
  })
  process.on('disconnect', () => process.exit(0))
}

/** What one worker does for one operation; false: there is nothing left to do. */
type Once = (worker: number) => Promise<boolean>

/** So many workers, each with one operation at a time, until so many operations are done. */
export const drive = async (operations: number, workers: number, once: Once): Promise<Round> => {
  const latencies_ms: number[] = []
  let left = operations
  const start_ms = performance.now()
  const work = async (worker: number): Promise<void> => {
    while (left > 0) {
      left -= 1
      const begun_ms = performance.now()
      if (!(await once(worker))) return
      latencies_ms.push(performance.now() - begun_ms)
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  const seconds = (performance.now() - start_ms) / 1_000
  if (latencies_ms.length < operations) {
    throw new Error(`only ${latencies_ms.length} of ${operations} operations found something to do`)
  }
  return { operations, seconds, latencies_ms }
}
