import { existsSync, readFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { type SystemService, temporaryDirectory, waitFor } from '@guildhall/testing'
import type { Guildhall } from './guildhall.ts'

/** Where the time of a service goes while it is under load: `--profile`. */

export interface ProfilerSwitch {
  /** For the services, so that they can be watched. */
  readonly env: NodeJS.ProcessEnv
  around<T>(
    guildhall: Guildhall,
    services: readonly SystemService[],
    run: () => Promise<T>,
  ): Promise<T>
  /** What was seen since the last call, as text by service. */
  take(): ReadonlyMap<SystemService, string>
}

const FUNCTIONS_SHOWN = 40
const PLACES_SHOWN = 20

interface Seen {
  us: number
  readonly functions: Map<string, number>
  readonly places: Map<string, number>
  idle_us: number
}

const add = (map: Map<string, number>, key: string, us: number): void => {
  map.set(key, (map.get(key) ?? 0) + us)
}

const shorten = (url: string): string =>
  url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/(services|libs)\//, '$1/')
    .replace('/dist/src/', '/')

/** A package, one of our folders, or a part of Node. */
const placeOf = (name: string, path: string): string => {
  if (path === '') return name.startsWith('(') ? name : '(native)'
  if (path.startsWith('node:')) return path.split('/').slice(0, 2).join('/')
  const parts = path.split('/')
  return parts.slice(0, path.startsWith('@') || /^(services|libs)\//.test(path) ? 2 : 1).join('/')
}

/** `file:line` of the compiled code, which keeps the lines of its source apart from imports. */
const addProfile = (
  seen: Seen,
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
): void => {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  samples.forEach((id, i) => {
    const frame = frames.get(id)
    const us = timeDeltas[i] ?? 0
    if (frame === undefined) return
    const { functionName, url, lineNumber } = frame
    if (functionName === '(idle)') {
      seen.idle_us += us
      return
    }
    const path = shorten(url)
    const name = functionName === '' ? '(anonymous)' : functionName
    seen.us += us
    add(seen.functions, path === '' ? name : `${name}  ${path}:${lineNumber + 1}`, us)
    add(seen.places, placeOf(name, path), us)
  })
}

const top = (map: ReadonlyMap<string, number>, total: number, count: number): string =>
  [...map]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([key, us]) => `${((us / total) * 100).toFixed(1).padStart(6)} %  ${key}`)
    .join('\n')

const describe = (seen: Seen): string => {
  const busy = (seen.us / (seen.us + seen.idle_us)) * 100
  return [
    `busy ${busy.toFixed(0)} % of the time; shares of the busy time, self time only`,
    '\nby place',
    top(seen.places, seen.us, PLACES_SHOWN),
    '\nby function',
    top(seen.functions, seen.us, FUNCTIONS_SHOWN),
    '',
  ].join('\n')
}

export const createProfiler = (): ProfilerSwitch => {
  const directory = temporaryDirectory('bench-profile')
  const preload = fileURLToPath(new URL('./profile-preload.js', import.meta.url))
  const numbers = new Map<number, number>()
  const by_service = new Map<SystemService, Seen>()

  const begin = async (pid: number): Promise<void> => {
    const path = `${directory}/${pid}-${numbers.get(pid) ?? 0}.started`
    process.kill(pid, 'SIGUSR2')
    await waitFor(() => existsSync(path), { what: 'the profile to begin' })
  }

  const end = async (service: SystemService, pid: number): Promise<void> => {
    const number = numbers.get(pid) ?? 0
    const path = `${directory}/${pid}-${number}.json`
    process.kill(pid, 'SIGUSR2')
    await waitFor(() => existsSync(path), { what: 'the profile', timeout_ms: 30_000 })
    numbers.set(pid, number + 1)
    const empty: Seen = { us: 0, functions: new Map(), places: new Map(), idle_us: 0 }
    const seen = by_service.get(service) ?? empty
    by_service.set(service, seen)
    addProfile(seen, JSON.parse(readFileSync(path, 'utf8')))
  }

  return {
    env: { NODE_OPTIONS: `--import=${preload}`, BENCH_PROFILE_DIR: directory },
    around: async ({ system }, services, run) => {
      const watched = services.map(
        (service) => [service, system.services[service][0]?.pid ?? -1] as const,
      )
      for (const [, pid] of watched) await begin(pid)
      const result = await run()
      for (const [service, pid] of watched) await end(service, pid)
      return result
    },
    take: () => {
      const texts = new Map([...by_service].map(([service, seen]) => [service, describe(seen)]))
      by_service.clear()
      return texts
    },
  }
}
