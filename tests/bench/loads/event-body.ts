import { randomUUID } from 'node:crypto'

const TEXT = 'Counting of the returned items is wrong since the last release of the exporter. '

/** An event of about 2 KiB, as a forge sends it; no two are the same. */
export const eventBody = (): string =>
  JSON.stringify({
    action: 'opened',
    delivery: randomUUID(),
    issue: { number: 1347, title: 'Returned items are counted twice', body: TEXT.repeat(20) },
    repository: { id: 1296269, full_name: 'example/warehouse', private: false },
    sender: { id: 583231, login: 'octocat', type: 'User' },
  })
