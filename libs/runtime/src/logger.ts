import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Field names whose values never reach a log, wherever they occur within two levels. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'token',
  'lease_token',
  'login_token',
  'password',
  'secret',
  'signing_secret',
  'api_token',
  'signature',
  'credential',
]

interface LoggerOptions {
  readonly service: string
  readonly level?: string
  readonly destination?: DestinationStream
}

/** JSON lines on stdout. Messages are constant; what varies stands in fields. */
export const createLogger = ({ service, level = 'info', destination }: LoggerOptions): Logger => {
  const options = {
    level,
    base: { service },
    redact: {
      paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
      censor: '[redacted]',
    },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}
