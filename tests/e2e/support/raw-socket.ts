import { connect } from 'node:net'

/** A server that waits for the rest of a request may be silent; it is then left alone. */
const QUIET_MS = 1_500

/** Writes bytes to a port and gives what came back until the far end closed, or `end` was seen. */
export const speak = (url: string, bytes: Buffer | string, end?: RegExp): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    let heard = ''
    const done = (): void => {
      socket.destroy()
      resolve(heard)
    }
    socket.setTimeout(QUIET_MS, done)
    socket.once('error', done)
    socket.once('close', done)
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1')
      if (end?.test(heard) === true) done()
    })
    socket.write(bytes)
  })

export const statusesIn = (heard: string): readonly number[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
