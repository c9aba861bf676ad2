import { metrics } from '@guildhall/runtime'
import { Counter, Gauge } from 'prom-client'

/** No label names an owner or a goal: whoever scrapes metrics must not learn who is here. */

export const commandsCounter = new Counter({
  name: 'guildhall_verifier_commands_total',
  help: 'Commands that were run or refused, by outcome',
  labelNames: ['outcome'] as const,
  registers: [metrics],
})

export const runningGauge = new Gauge({
  name: 'guildhall_verifier_commands_running',
  help: 'Commands that run now',
  registers: [metrics],
})
