import type { MsgHdrs } from 'nats'
import { NatsConnectionImpl } from 'nats/lib/nats-base-client/nats.js'

/**
 * A fault on purpose, loaded into a service with `--import`: it writes claim records without asking
 * whether somebody else wrote in between. Creation stays as it is.
 */

const EXPECTED = 'Nats-Expected-Last-Subject-Sequence'
const RECORDS = '$KV.work.'

interface Options {
  readonly headers?: MsgHdrs
}

const { prototype } = NatsConnectionImpl
const request = prototype.request

prototype.request = function (subject, data, options) {
  const { headers }: Options = options ?? {}
  const expected = headers?.get(EXPECTED) ?? ''
  if (subject.startsWith(RECORDS) && expected !== '' && expected !== '0') headers?.delete(EXPECTED)
  return request.call(this, subject, data, options)
}
