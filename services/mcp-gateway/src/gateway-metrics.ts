import { metrics } from '@guildhall/runtime'
import { Counter, Gauge, Histogram } from 'prom-client'

/** Labels are tools and outcomes of our own tables: never a queue, a name or an id of anybody's. */
const registers = [metrics]

export const toolCalls = new Counter({
  name: 'guildhall_tool_calls_total',
  help: 'Tool calls by tool and outcome (ok, or the error code)',
  labelNames: ['tool', 'outcome'],
  registers,
})

export const toolSeconds = new Histogram({
  name: 'guildhall_tool_call_seconds',
  help: 'Time from an accepted tool call to its result; waits for work included',
  labelNames: ['tool'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 60],
  registers,
})

export const rejections = new Counter({
  name: 'guildhall_http_rejections_total',
  help: 'Requests refused before any work was done, by error code',
  labelNames: ['code'],
  registers,
})

export const attachedStreams = new Gauge({
  name: 'guildhall_notification_streams',
  help: 'Notification streams attached to this replica',
  registers,
})

export const ringsWritten = new Counter({
  name: 'guildhall_rings_written_total',
  help: 'Doorbell rings written to a stream',
  registers,
})

export const ringsDropped = new Counter({
  name: 'guildhall_rings_dropped_total',
  help: 'Doorbell rings dropped because the buffer of their stream was full',
  registers,
})
