import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import pg from 'pg'
import { startPostgres } from './postgres.ts'
import { socketPath } from './shared-cluster.ts'

// Runs under the file lock of shared-cluster.ts, detached from the test that started it.

const IDLE_MS = 30_000
const CHECK_MS = 1_000
const ROLE = 'guildhall_test'

const directory = process.argv[2]
if (directory === undefined) throw new Error('usage: shared-cluster-daemon.js <directory>')

const cluster = await startPostgres({ fsync: false })

/** Tests use a plain role, so that a migration which needs a superuser fails there already. */
const createRole = async (): Promise<string> => {
  const password = randomBytes(16).toString('hex')
  const client = new pg.Client(cluster.adminUrl)
  await client.connect()
  await client.query(`create role ${ROLE} login createdb password '${password}'`)
  await client.end()
  return `postgres://${ROLE}:${password}@127.0.0.1:${cluster.port}/postgres`
}

const adminUrl = await createRole()
let clients = 0
let idleSince = performance.now()

const server = createServer((socket) => {
  clients++
  socket.write(`${adminUrl}\n`)
  socket.on('error', () => {})
  socket.on('close', () => {
    clients--
    idleSince = performance.now()
  })
  // Nothing is expected from a client, but its end is only seen when its data is read.
  socket.resume()
})

const finish = async (code: number): Promise<never> => {
  server.close()
  rmSync(socketPath(directory), { force: true })
  // Its data goes away with us, so there is nothing to shut down in order.
  await cluster.kill()
  process.exit(code)
}

// We hold the lock, so a socket that is already there is left over from a daemon that was killed.
rmSync(socketPath(directory), { force: true })
server.listen(socketPath(directory))

setInterval(() => {
  if (!cluster.running) {
    console.error(`PostgreSQL ended:\n${cluster.logs()}`)
    void finish(1)
  } else if (clients === 0 && performance.now() - idleSince > IDLE_MS) {
    void finish(0)
  }
}, CHECK_MS)
process.on('SIGTERM', () => void finish(0))
process.on('SIGINT', () => void finish(0))
