import { databaseIdentity } from './databases.ts'
import type { Layout } from './layout.ts'
import { readJson, writePrivateJson } from './private-file.ts'
import { runEntry } from './run-entry.ts'
import type { PublicUrls } from './service-environment.ts'
import { BOOTSTRAP_SERVICE, bootstrapEntry } from './services.ts'

/** What bootstrap.js prints as one line of JSON. */
export interface FirstOwner {
  owner: { user_id: number; login_url: string; api_token: string }
  agent: { agent_id: number; endpoint_id: string; token: string }
}

interface Kept extends FirstOwner {
  /** The database that these were made in; another one has never heard of them. */
  database: string
}

const parseOwner = (line: string): FirstOwner | undefined => {
  try {
    // `as`: checked right below as far as we use it.
    const value = JSON.parse(line) as Partial<FirstOwner>
    const { owner, agent } = value
    const isWhole = owner?.login_url && owner.api_token && agent?.token
    return isWhole ? { ...value, owner, agent } : undefined
  } catch {
    return undefined
  }
}

/** The login link as it was printed, on the port that is served now. */
const onPresentPort = (first: FirstOwner, urls: PublicUrls): FirstOwner => {
  const link = new URL(first.owner.login_url)
  link.host = new URL(urls.api).host
  return { ...first, owner: { ...first.owner, login_url: link.href } }
}

/**
 * Creates the first owner once per database. What bootstrap prints is kept, as the credentials in
 * it are stored only as hashes and cannot be shown again.
 */
export const firstOwner = async (
  layout: Layout,
  env: NodeJS.ProcessEnv,
  urls: PublicUrls,
): Promise<FirstOwner> => {
  const { DATABASE_URL: url } = env
  if (url === undefined) throw new Error(`${BOOTSTRAP_SERVICE} has no database in services.ts`)
  const database = await databaseIdentity(url)
  // `as`: only this function writes the file.
  const kept = readJson(layout.bootstrapFile) as Kept | undefined
  if (kept?.database === database) return onPresentPort(kept, urls)
  const lines = await runEntry(layout.root, bootstrapEntry(BOOTSTRAP_SERVICE), env)
  // Its log may go to stdout as well; the answer is the last line that has the shape.
  const made = lines.map(parseOwner).findLast((owner) => owner !== undefined)
  if (made === undefined) {
    throw new Error(`${bootstrapEntry(BOOTSTRAP_SERVICE)} printed no owner:\n${lines.join('\n')}`)
  }
  writePrivateJson(layout.bootstrapFile, { database, ...made })
  return made
}
