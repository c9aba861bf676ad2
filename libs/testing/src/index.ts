// Real servers and processes for tests, and the process supervision that infra/dev shares.
// This package imports none of ours: every lib and service may then use it in its own tests
// without a cycle of project references.
export {
  createDatabase,
  type TestCluster,
  type TestDatabase,
  type TestDatabaseOptions,
  testDatabase,
} from './database.ts'
export { type EventStream, followEvents, type Notification } from './follow-events.ts'
export { freePort, isPortFree } from './free-port.ts'
export {
  type ExitStatus,
  LOCK_HELD_EXIT_CODE,
  type ManagedProcess,
  type ProcessOptions,
  processIdentity,
  spawnManaged,
  withFileLock,
} from './managed-process.ts'
export { ManualClock } from './manual-clock.ts'
export { type NatsOptions, type NatsServer, startNats } from './nats.ts'
export { knowsSyncAlways, type NatsBinary, natsBinary } from './nats-binary.ts'
export { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts'
export { type RunningService, type ServiceOptions, startService } from './service.ts'
export { type System, type SystemOptions, type SystemService, startSystem } from './system.ts'
export { temporaryDirectory } from './temporary-directory.ts'
export { waitFor } from './wait-for.ts'
