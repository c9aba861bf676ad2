import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Layout, layoutOf } from './layout.ts'
import { portBase } from './ports.ts'
import { SERVICES, type ServiceDefinition } from './services.ts'

export interface Options {
  layout: Layout
  services: readonly ServiceDefinition[]
  portBase: number
  /** The same again, for the supervisor process. */
  args: string[]
}

// Runs from infra/dev/dist/src.
const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url))

/** `--root` and `--services <json file>` stand in for the repository and its table in tests. */
export const readOptions = (argv: readonly string[], env: NodeJS.ProcessEnv): Options => {
  const { values } = parseArgs({
    args: [...argv],
    options: { root: { type: 'string' }, services: { type: 'string' } },
  })
  const { root = REPOSITORY, services } = values
  return {
    layout: layoutOf(root),
    // `as`: a test writes this file from the same type.
    services:
      services === undefined
        ? SERVICES
        : (JSON.parse(readFileSync(services, 'utf8')) as ServiceDefinition[]),
    portBase: portBase(env),
    args: ['--root', root, ...(services === undefined ? [] : ['--services', services])],
  }
}
