import type { ServerResponse } from 'node:http'
import type { Sink } from '../doorbell/notification-stream.ts'

/**
 * no-transform and X-Accel-Buffering keep proxies from collecting events instead of passing them.
 * The connection ends with the stream: it is of no use afterwards, and would hold up a drain.
 */
export const SSE_HEADERS = {
  connection: 'close',
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const

export const sseSink = (response: ServerResponse): Sink => ({
  write: (text) => response.write(text),
  onDrain: (listener) => response.on('drain', listener),
  onClose: (listener) => response.on('close', listener),
  end: (text) => {
    response.end(text)
  },
  destroy: () => {
    response.destroy()
  },
})
