import { chown, mkdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'

/**
 * Where a command runs: a folder below that of its goal, which no path leads out of. Folders are
 * made one by one, each below one whose real path is known, so that nothing is made elsewhere
 * through a link either.
 *
 * This keeps apart what is honest. A command of one goal that looks for the folder of another finds
 * it if its user may: that is for the file system's rights and the pod to prevent.
 */

export class Refused extends Error {
  override readonly name = 'Refused'
}

export interface Identity {
  readonly uid: number
  readonly gid: number
}

interface Place {
  readonly user_id: number
  readonly goal_id: number
  /** Relative to the goal's folder. */
  readonly cwd: string
}

const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder + sep)

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** True when it was made now. */
const makeFolder = async (path: string): Promise<boolean> => {
  try {
    await mkdir(path, { mode: 0o755 })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    if (hasCode(error, 'ENOTDIR')) throw new Refused('cwd: a part of it is not a folder')
    if (hasCode(error, 'ENAMETOOLONG')) throw new Refused('cwd: too long')
    throw error
  }
}

const enter = async (
  parent: string,
  name: string,
  { folder, owner }: { readonly folder: string; readonly owner: Identity | undefined },
): Promise<string> => {
  const path = join(parent, name)
  const made = await makeFolder(path)
  if (made && owner !== undefined) await chown(path, owner.uid, owner.gid)
  const real = await realpath(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ELOOP')) {
      throw new Refused('cwd: a link in it leads nowhere')
    }
    throw error
  })
  if (!isInside(real, folder)) throw new Refused('cwd: it leads out of the folder of the goal')
  if (!(await stat(real)).isDirectory()) throw new Refused('cwd: a part of it is not a folder')
  return real
}

const segmentsOf = (cwd: string): readonly string[] => {
  if (isAbsolute(cwd)) throw new Refused('cwd: must be relative to the folder of the goal')
  if (cwd.includes('\u0000')) throw new Refused('cwd: holds a NUL')
  const segments = cwd.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw new Refused('cwd: must not contain ..')
  return segments
}

/** The real path of the folder, made if it was missing. Throws `Refused` for what leads outside. */
export const enterJail = async (
  root: string,
  { user_id, goal_id, cwd }: Place,
  owner?: Identity,
): Promise<string> => {
  const segments = segmentsOf(cwd)
  const base = await realpath(root)
  // These two are ours: a link in place of one of them would be somebody's doing.
  const user = await enter(base, `${user_id}`, {
    folder: join(base, `${user_id}`),
    owner: undefined,
  })
  const goal = await enter(user, `${goal_id}`, { folder: join(user, `${goal_id}`), owner })
  let place = goal
  for (const segment of segments) place = await enter(place, segment, { folder: goal, owner })
  return place
}
