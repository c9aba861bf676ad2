export {
  clientAddress,
  isWithin,
  type Network,
  parseNetwork,
  parseNetworks,
  senderOf,
} from './client-address.ts'
export { type Clock, clockFrom, type SteadyClock, steadyClock, systemClock } from './clock.ts'
export {
  ConfigError,
  commaList,
  DatabaseConfig,
  loadConfig,
  networkList,
  parsedBy,
  serviceConfigShape,
} from './config.ts'
export {
  KEY_BYTES,
  type KeyRing,
  keyNamed,
  newestKey,
  openBytes,
  parseKeyRing,
  sealBytes,
} from './key-ring.ts'
export { interval, type Part, runService } from './lifecycle.ts'
export { createLogger, type Logger } from './logger.ts'
export { metrics, opsServer } from './ops-server.ts'
export { isPublicAddress } from './public-address.ts'
export { RateLimiter } from './rate-limiter.ts'
export { refuseBrokenHttp } from './refuse-broken-http.ts'
export { newRequestId } from './request-id.ts'
