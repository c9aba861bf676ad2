// `make verify-reputation`: computes every score of the running system anew from the evidence, and
// fails, naming them, if any differs from the one that is kept.
import { readOptions } from './options.ts'
import { runInServices } from './run-in-services.ts'

await runInServices(
  readOptions(process.argv.slice(2), process.env),
  ['reputation'],
  () => 'services/reputation/dist/src/recompute.js',
  (service, lines) => console.log(`${service}: ${lines.join('\n') || 'done'}`),
)
