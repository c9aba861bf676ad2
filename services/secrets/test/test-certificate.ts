import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A certificate authority of the test's own, and a server certificate by it: X.509 by hand (RFC 5280). */

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts)
const integer = (value: number) => der(0x02, Buffer.from([value]))
const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes)
const octets = (bytes: Uint8Array) => der(0x04, bytes)
const TRUE = der(0x01, Buffer.from([0xff]))
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))
const COMMON_NAME = oid('550403')
const BASIC_CONSTRAINTS = oid('551d13')
const ALTERNATIVE_NAMES = oid('551d11')

const named = (name: string) =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))))

const VALIDITY = sequence(
  der(0x17, Buffer.from('200101000000Z')),
  der(0x17, Buffer.from('491231235959Z')),
)

interface Subject {
  readonly serial: number
  readonly name: string
  readonly issuer: string
  readonly key: KeyObject
  readonly extension: Buffer
}

const certificate = ({ serial, name, issuer, key, extension }: Subject, by: KeyObject): string => {
  const body = sequence(
    der(0xa0, integer(2)),
    integer(serial),
    ECDSA_SHA256,
    named(issuer),
    VALIDITY,
    named(name),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  )
  const whole = sequence(body, ECDSA_SHA256, bits(sign('sha256', body, by)))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const AUTHORITY = 'Guildhall test authority'

export const testCertificates = (hosts: readonly string[]) => {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))))
  return {
    ca: certificate(
      {
        serial: 1,
        name: AUTHORITY,
        issuer: AUTHORITY,
        key: authority.publicKey,
        extension: sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE))),
      },
      authority.privateKey,
    ),
    cert: certificate(
      {
        serial: 2,
        name: hosts[0] ?? 'server',
        issuer: AUTHORITY,
        key: server.publicKey,
        extension: sequence(ALTERNATIVE_NAMES, octets(names)),
      },
      authority.privateKey,
    ),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
