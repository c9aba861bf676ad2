export { advanceKv, advanceVersion } from './advance.ts'
export { type BodyStore, openBodyStore } from './body-store.ts'
export { type Caller, type CallOptions, createCaller } from './call.ts'
export { type Bus, connectBus } from './connect.ts'
export { consume, type StreamMessage } from './consume.ts'
export { publishCore, subscribeCore } from './core.ts'
export { decode } from './decode.ts'
export { lastOfSubject } from './direct-get.ts'
export { busUnavailable, isCasConflict } from './errors.ts'
export { createKv, type Entry, type Kv, listKeys, scanKv } from './kv.ts'
export { type Mirror, mirrorKv } from './mirror.ts'
export { headerJson, publish } from './publish.ts'
export {
  ackWork,
  delayWork,
  ensureLaneConsumer,
  type PulledWork,
  pullWork,
  returnWork,
} from './pull.ts'
export {
  type AnonymousContext,
  bind,
  bindAnonymous,
  type CallContext,
  type Handler,
  serveOperations,
} from './serve.ts'
export { serverTime } from './server-time.ts'
export { allStreams, applyTopology, durables, verifyTopology } from './topology.ts'
