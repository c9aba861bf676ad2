import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { temporaryDirectory } from '@guildhall/testing'
import type { Test } from 'tap'
import { testCertificates } from './test-certificate.ts'

/** A real host on loopback, with certificates by an authority of its own. */

export const HOST = 'api.example.test'
export const OTHER_HOST = 'other.example.test'
/** Has no certificate of the server. */
export const UNCERTIFIED_HOST = 'uncertified.example.test'

interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answering = (
  request: SeenRequest,
  response: ServerResponse,
  raw: IncomingMessage,
) => void | Promise<void>

export const startTlsHost = async (t: Test) => {
  const { ca, cert, key } = testCertificates([HOST, OTHER_HOST, '*.wild.example.test'])
  const seen: SeenRequest[] = []
  let answering: Answering = (_request, response) => void response.end('ok')
  const answer = async (raw: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of raw) chunks.push(chunk)
    const request = {
      method: raw.method ?? '',
      url: raw.url ?? '',
      headers: raw.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    }
    seen.push(request)
    await answering(request, response, raw)
  }
  // What goes wrong here ends the connection, and the test sees that.
  const server = createServer({ cert, key }, (raw, response) => {
    answer(raw, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const ca_file = join(temporaryDirectory('ca'), 'ca.pem')
  writeFileSync(ca_file, ca)
  const names = [HOST, OTHER_HOST, UNCERTIFIED_HOST, 'a.wild.example.test']
  return {
    port,
    seen,
    url: (path: string, host = HOST) => `https://${host}:${port}${path}`,
    answer: (how: Answering) => {
      answering = how
    },
    /** Settings of a service that may call it. */
    env: {
      SECRETS_EXTRA_PORTS: String(port),
      SECRETS_ALLOWED_ADDRESSES: '127.0.0.1',
      SECRETS_EXTRA_CA: ca_file,
      SECRETS_STATIC_HOSTS: names.map((name) => `${name}=127.0.0.1`).join(','),
    },
  }
}
