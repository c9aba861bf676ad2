// Run by orphans.test.ts and killed there: starts one of everything and says which pids they have.
import { startNats, startPostgres, startService } from '../src/index.ts'

const [nats, postgres] = await Promise.all([startNats(), startPostgres({ fsync: false })])
const service = await startService({
  entry: process.argv[2] ?? '',
  name: 'fake',
  readyLine: 'up',
  env: {},
})
console.log(JSON.stringify([nats.pid, postgres.pid, service.pid]))
setInterval(() => {}, 60_000)
