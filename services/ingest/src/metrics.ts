import { metrics } from '@guildhall/runtime'
import { Counter } from 'prom-client'

/** No label names a tenant or a queue: whoever scrapes metrics must not learn who is here. */

export const deliveryCounter = new Counter({
  name: 'guildhall_ingest_deliveries_total',
  help: 'Requests to webhook URLs whose webhook is known, by what became of them',
  labelNames: ['source', 'outcome'] as const,
  registers: [metrics],
})

export const refusalCounter = new Counter({
  name: 'guildhall_ingest_refusals_total',
  help: 'Requests that were refused, also those for no known webhook, by error code',
  labelNames: ['code'] as const,
  registers: [metrics],
})
