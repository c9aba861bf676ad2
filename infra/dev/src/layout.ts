import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Everything that `make up` writes lies below var/, and stays there between runs. */
export interface Layout {
  root: string
  var: string
  log: string
  keysFile: string
  natsDir: string
  postgresDir: string
  /** For people and scripts: URLs and credentials of what runs now. */
  devFile: string
  /** What the first bootstrap printed; it cannot be had again. */
  bootstrapFile: string
  /** For the next `up` or `down`: which processes are ours. */
  stateFile: string
  lockFile: string
}

export const layoutOf = (root: string): Layout => {
  const at = (...parts: string[]) => join(resolve(root), 'var', ...parts)
  return {
    root: resolve(root),
    var: at(),
    log: at('log'),
    keysFile: at('keys', 'dev.json'),
    natsDir: at('nats'),
    postgresDir: at('postgres'),
    devFile: at('dev.json'),
    bootstrapFile: at('bootstrap.json'),
    stateFile: at('run', 'supervisor.json'),
    lockFile: at('run', 'supervisor.lock'),
  }
}

export const createDirectories = (layout: Layout): void => {
  for (const path of [layout.log, layout.natsDir]) mkdirSync(path, { recursive: true })
  for (const path of ['keys', 'run']) {
    mkdirSync(join(layout.var, path), { recursive: true, mode: 0o700 })
  }
}

export const logFile = (layout: Layout, name: string): string => join(layout.log, `${name}.log`)
