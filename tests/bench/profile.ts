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
const INCLUSIVE_SHOWN = 60
const PLACES_SHOWN = 20

interface Seen {
  us: number
  idle_us: number
  readonly places: Map<string, number>
  /** Self time. */
  readonly functions: Map<string, number>
  /** With all that they call, but not what they await. */
  readonly inclusive: Map<string, number>
}

const nothingSeen = (): Seen => ({
  us: 0,
  idle_us: 0,
  places: new Map(),
  functions: new Map(),
  inclusive: new Map(),
})

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

/** Not the service's own doing: waiting, and our switching of the profiler. */
const isForeign = ({ functionName, url }: Profiler.ProfileNode['callFrame']): boolean =>
  url === '' && (functionName === '(idle)' || functionName === 'dispatch')

const nameOf = ({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame']) => {
  const path = shorten(url)
  const name = functionName === '' ? '(anonymous)' : functionName
  // The line is that of the compiled code.
  return { path, name: path === '' ? name : `${name}  ${path}:${lineNumber + 1}` }
}

/** The names on the way from each node to the root, each once. */
const callChains = (nodes: readonly Profiler.ProfileNode[]): Map<number, ReadonlySet<string>> => {
  const chains = new Map<number, ReadonlySet<string>>()
  const by_id = new Map(nodes.map((node) => [node.id, node]))
  const walk = (id: number, above: ReadonlySet<string>): void => {
    const node = by_id.get(id)
    if (node === undefined) return
    const chain = new Set([...above, nameOf(node.callFrame).name])
    chains.set(id, chain)
    for (const child of node.children ?? []) walk(child, chain)
  }
  const root = nodes[0]
  if (root !== undefined) walk(root.id, new Set())
  return chains
}

const addProfile = (seen: Seen, profile: Profiler.Profile): void => {
  const { nodes, samples = [], timeDeltas = [] } = profile
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const chains = callChains(nodes)
  samples.forEach((id, i) => {
    const frame = frames.get(id)
    const us = timeDeltas[i] ?? 0
    if (frame === undefined) return
    if (isForeign(frame)) {
      seen.idle_us += us
      return
    }
    const { name, path } = nameOf(frame)
    seen.us += us
    add(seen.functions, name, us)
    add(seen.places, placeOf(name, path), us)
    for (const caller of chains.get(id) ?? []) add(seen.inclusive, caller, us)
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
    `busy ${busy.toFixed(0)} % of the time; shares of the busy time`,
    '\nself time by place',
    top(seen.places, seen.us, PLACES_SHOWN),
    '\nself time by function',
    top(seen.functions, seen.us, FUNCTIONS_SHOWN),
    '\nwith all that they call',
    top(seen.inclusive, seen.us, INCLUSIVE_SHOWN),
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
    const seen = by_service.get(service) ?? nothingSeen()
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
