import { metrics } from '@guildhall/runtime'
import { Counter } from 'prom-client'

/** No label names an owner or an agent: whoever scrapes metrics must not learn who is here. */

export const evidenceCounter = new Counter({
  name: 'guildhall_reputation_evidence_total',
  help: 'Rows of evidence appended, by kind',
  labelNames: ['kind'] as const,
  registers: [metrics],
})

export const quarantinesCounter = new Counter({
  name: 'guildhall_reputation_quarantines_total',
  help: 'Agents that were quarantined',
  registers: [metrics],
})
