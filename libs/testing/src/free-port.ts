import { createServer } from 'node:net'

// Below the ephemeral range of Linux (32768 and up). A port from that range can be handed to any
// outgoing connection; worse, a client that keeps dialing a server which is down can be given the
// server's own port as its source, connects to itself, and keeps the server from coming back.
const FIRST_PORT = 20_000
const LAST_PORT = 31_999
const ATTEMPTS = 50

/** Whether nothing listens on this loopback port at this moment. */
export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      probe.close(() => resolve(true)),
    )
  })

/** A loopback port that is free now. Another process may still take it: be ready to try again. */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1))
    if (await isPortFree(port)) return port
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`)
}
