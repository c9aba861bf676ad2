import { type IncomingMessage, request } from 'node:http'

/** An attached notification stream that tells when it was rung for which todo. */
export interface AttachedStream {
  /** performance.now() of the ring for this todo. */
  ring(todo_id: string): Promise<number>
  close(): void
}

const RING_TIMEOUT_MS = 10_000
const CHANNEL = 'notifications/claude/channel'

const todoOf = (event: string): string | undefined => {
  const data = event.split('\n').find((line) => line.startsWith('data: '))
  if (data === undefined) return undefined
  const { method, params } = JSON.parse(data.slice('data: '.length))
  return method === CHANNEL ? params.meta.todo_id : undefined
}

const onEvents = (response: IncomingMessage, handle: (event: string) => void): void => {
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const events = (rest + text).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) handle(event)
  })
}

const get = (url: string, token: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    request(url, { headers }, resolve).on('error', reject).end()
  })

export const attachStream = async (url: string, token: string): Promise<AttachedStream> => {
  const response = await get(url, token)
  if (response.statusCode !== 200) throw new Error(`no stream: HTTP ${response.statusCode}`)
  const rung_ms = new Map<string, number>()
  const waiting = new Map<string, (at_ms: number) => void>()
  onEvents(response, (event) => {
    const at_ms = performance.now()
    const todo_id = todoOf(event)
    if (todo_id === undefined) return
    const settle = waiting.get(todo_id)
    if (settle === undefined) rung_ms.set(todo_id, at_ms)
    else settle(at_ms)
  })
  return {
    ring: (todo_id) => {
      const known = rung_ms.get(todo_id)
      if (known !== undefined) return Promise.resolve(known)
      return new Promise((resolve, reject) => {
        const late = () => reject(new Error(`no ring for ${todo_id}`))
        const timer = setTimeout(late, RING_TIMEOUT_MS)
        waiting.set(todo_id, (at_ms) => {
          clearTimeout(timer)
          waiting.delete(todo_id)
          resolve(at_ms)
        })
      })
    },
    close: () => response.destroy(),
  }
}
