import { metrics } from '@guildhall/runtime'
import { Counter } from 'prom-client'

/** No label names a tenant, an agent or a host: whoever scrapes metrics must not learn who is here. */
export const callCounter = new Counter({
  name: 'guildhall_secrets_calls_total',
  help: 'Calls made with a secret: answered, broken off after they were sent, or never sent',
  labelNames: ['outcome'] as const,
  registers: [metrics],
})
