import { parseArgs } from 'node:util'
import { connectBus } from '@guildhall/bus'
import { connectDb, outboxRelay } from '@guildhall/db'
import { clockFrom, createLogger, loadConfig } from '@guildhall/runtime'
import { relayRow } from './announce.ts'
import {
  createFirstOwner,
  createUser,
  type LoginLink,
  newLoginLink,
  OWNER_USERNAME,
} from './first-owner.ts'
import { createProjection } from './projection.ts'
import { bootstrapSettings } from './settings.ts'
import { checkName } from './text.ts'

/**
 * Without arguments: creates the first owner, once. With `--user <username>`: a further person. With
 * `--login-link <username>`: a fresh login link for somebody who is there. The one line on stdout is the answer; logs go to stderr.
 */
const PROJECTION_WAIT_MS = 10_000

const { values: args } = parseArgs({
  options: { 'login-link': { type: 'string' }, user: { type: 'string' } },
})
const settings = loadConfig(bootstrapSettings, process.env)
const log = createLogger({
  service: 'approvals-bootstrap',
  level: settings.LOG_LEVEL,
  destination: process.stderr,
})
const clock = clockFrom(settings)
const db = connectDb(settings.DATABASE_URL, { log, max: 2 })

const project = async (): Promise<void> => {
  const bus = await connectBus({
    url: settings.NATS_URL,
    user: settings.NATS_USER,
    password: settings.NATS_PASSWORD,
    // The account of the service itself: nobody else may write the identity bucket.
    service: 'approvals',
    log,
  })
  await outboxRelay({ db, publish: relayRow(bus, createProjection(bus)), log }).flush()
  await bus.close()
}

/** The tokens are shown even so: the service brings them to the bucket once the bus is back. */
const projectInTime = async (): Promise<void> => {
  const overdue = new Promise<void>((_resolve, reject) => {
    setTimeout(() => reject(new Error('the bus did not answer in time')), PROJECTION_WAIT_MS)
  })
  await Promise.race([project(), overdue]).catch((err: unknown) =>
    log.warn({ err }, 'what was made is stored, but the gateway does not know it yet'),
  )
}

const loginUrl = ({ login_token }: LoginLink): string =>
  `${settings.PUBLIC_LOGIN_URL}?token=${login_token}`

const linkFor = async (username: string): Promise<object> => {
  const link = await newLoginLink(db, username, new Date(clock.now()))
  if (link === undefined) throw new Error(`there is no user named ${JSON.stringify(username)}`)
  return { already: true, owner: { user_id: link.user_id, login_url: loginUrl(link) } }
}

const bootstrap = async (): Promise<object> => {
  const created = await createFirstOwner(db, new Date(clock.now()))
  if (created === undefined) return await linkFor(OWNER_USERNAME)
  await projectInTime()
  const { user_id, username, api_token, agent } = created
  return { owner: { user_id, username, login_url: loginUrl(created), api_token }, agent }
}

const addUser = async (username: string): Promise<object> => {
  const link = await createUser(db, checkName('user', username), new Date(clock.now()))
  if (link === undefined) throw new Error(`the name ${JSON.stringify(username)} is taken`)
  return { owner: { user_id: link.user_id, username, login_url: loginUrl(link) } }
}

const answerFor = async ({ user, 'login-link': username }: typeof args): Promise<object> => {
  if (user !== undefined) return await addUser(user)
  return username === undefined ? await bootstrap() : await linkFor(username)
}

try {
  const answer = await answerFor(args)
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0))
} catch (err) {
  log.error({ err }, 'bootstrap failed')
  process.exit(1)
}
