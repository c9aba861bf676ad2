import { LineSplitter } from './lines.ts'

const EVENT_MAX_CHARS = 4 * 1024 * 1024

/** The data of each event, in order. Comments, ids and names mean nothing to us. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const splitter = new LineSplitter(EVENT_MAX_CHARS)
  let data: string[] = []
  for await (const chunk of body) {
    for (const line of splitter.push(chunk)) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
}
