import { metrics } from '@guildhall/runtime'
import { Counter } from 'prom-client'

/** The label is the name of an operation of ours, never anything of a caller's. */
export const expiredCalls = new Counter({
  name: 'guildhall_calls_expired_total',
  help: 'Calls that were dropped because their caller had stopped waiting, by operation',
  labelNames: ['operation'],
  registers: [metrics],
})
