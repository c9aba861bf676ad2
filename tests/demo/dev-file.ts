import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { DemoStopped } from './demo-stopped.ts'

/** What `make up` wrote about the system that runs. Read loosely: other things stand there too. */
const DevFile = z.object({
  mcp_url: z.url(),
  api_url: z.url(),
  ingest_url: z.url(),
  owner: z.object({ api_token: z.string().optional() }),
})

export interface RunningSystem {
  readonly mcp_url: string
  readonly api_url: string
  readonly ingest_url: string
  readonly api_token: string
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new DemoStopped(
      `There is no ${path}, so nothing seems to run.`,
      'Start the system with `make up`, and then run `make demo` again.',
    )
  }
}

const unusable = (path: string, why: string): DemoStopped =>
  new DemoStopped(
    `${path} is not what \`make up\` writes:\n${why}`,
    'Run `make up` again; it writes a new one.',
  )

const parse = (path: string, text: string): z.infer<typeof DevFile> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw unusable(path, 'it is no JSON')
  }
  const parsed = DevFile.safeParse(value)
  if (parsed.success) return parsed.data
  throw unusable(path, z.prettifyError(parsed.error))
}

export const readDevFile = (path: string): RunningSystem => {
  const { mcp_url, api_url, ingest_url, owner } = parse(path, readText(path))
  if (owner.api_token === undefined) {
    throw new DemoStopped(
      `${path} has no owner.api_token: it is shown once, and this one was lost.`,
      'Log in at owner.login_url, make a token with POST /api/tokens, and put it there.',
    )
  }
  return { mcp_url, api_url, ingest_url, api_token: owner.api_token }
}
