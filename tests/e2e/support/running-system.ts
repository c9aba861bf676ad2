import { connect } from 'node:net'
import { type System, type SystemOptions, startSystem, waitFor } from '@guildhall/testing'
import tap, { type Test } from 'tap'

/** A busy machine takes a while to start so many processes. */
tap.setTimeout(300_000)

/** The whole system for one test file. Limits per address are out of the way unless set. */

const GENEROUS = {
  ingest: {
    WEBHOOK_RATE_PER_SECOND: '10000',
    WEBHOOK_RATE_BURST: '10000',
    CLIENT_RATE_PER_SECOND: '10000',
    CLIENT_RATE_BURST: '10000',
  },
  'mcp-gateway': { ADDRESS_RATE_PER_SECOND: '10000', ADDRESS_RATE_BURST: '10000' },
} as const

const withGenerous = (env: SystemOptions['env'] = {}): NonNullable<SystemOptions['env']> => ({
  ...env,
  ingest: { ...GENEROUS.ingest, ...env.ingest },
  'mcp-gateway': { ...GENEROUS['mcp-gateway'], ...env['mcp-gateway'] },
})

const isListening = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    const done = (listening: boolean): void => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })

export const runningSystem = async (t: Test, options: SystemOptions = {}): Promise<System> => {
  const system = await startSystem({ ...options, env: withGenerous(options.env) })
  t.teardown(() => system.stop())
  for (const url of [...system.mcp_urls, ...system.ingest_urls]) {
    await waitFor(() => isListening(url), { what: `${url} to listen` })
  }
  return system
}

/** All output of all services so far, one line each. */
export const logLines = ({ services }: System): string[] =>
  Object.values(services).flatMap((replicas) =>
    replicas.flatMap((replica) => replica.logs().split('\n')),
  )
