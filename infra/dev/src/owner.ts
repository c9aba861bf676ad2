import { databaseIdentity } from './databases.ts'
import type { Layout } from './layout.ts'
import { readJson, writePrivateJson } from './private-file.ts'
import { runEntry } from './run-entry.ts'
import { BOOTSTRAP_SERVICE, bootstrapEntry } from './services.ts'

/** How to get in. */
export interface FirstOwner {
  /** The link works once and for a while; each `make up` makes a new one. */
  owner: { user_id: number; login_url: string; api_token?: string }
  /** Missing when var/bootstrap.json was lost: a token is shown once. The owner can make another. */
  agent?: { agent_id: number; endpoint_id: string; token: string }
}

interface Kept extends FirstOwner {
  /** The database that these were made in; another one has never heard of them. */
  database: string
}

const parseOwner = (line: string): FirstOwner | undefined => {
  try {
    // `as`: the next line checks the part that everything else hangs on.
    const value = JSON.parse(line) as Partial<FirstOwner>
    return value.owner?.login_url ? { ...value, owner: value.owner } : undefined
  } catch {
    return undefined
  }
}

/**
 * The first owner and agent: bootstrap creates them once per database, and from then on answers
 * with a new login link. The credentials of the first time are kept, as the database has only
 * their hashes.
 */
export const firstOwner = async (layout: Layout, env: NodeJS.ProcessEnv): Promise<FirstOwner> => {
  const { DATABASE_URL: url } = env
  if (url === undefined) throw new Error(`${BOOTSTRAP_SERVICE} has no database in services.ts`)
  const lines = await runEntry(layout.root, bootstrapEntry(BOOTSTRAP_SERVICE), env)
  // The answer is the last line that has the shape: a log may go to stdout as well.
  const answer = lines.map(parseOwner).findLast((owner) => owner !== undefined)
  if (answer === undefined) {
    throw new Error(`${bootstrapEntry(BOOTSTRAP_SERVICE)} printed no owner:\n${lines.join('\n')}`)
  }
  const { owner, agent } = answer
  const database = await databaseIdentity(url)
  if (agent !== undefined) {
    writePrivateJson(layout.bootstrapFile, { database, owner, agent })
    return { owner, agent }
  }
  // `as`: only this function writes the file.
  const kept = readJson(layout.bootstrapFile) as Kept | undefined
  if (kept?.database !== database) return { owner }
  const { owner: first, agent: firstAgent } = kept
  return { owner: { ...first, ...owner }, ...(firstAgent && { agent: firstAgent }) }
}
