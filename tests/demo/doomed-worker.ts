import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from './demo-stopped.ts'

export interface DoomedWorker {
  readonly pid: number
  readonly id: string
  readonly lease_token: string
  /** SIGKILL: no goodbye, no release, no last words. Resolves when it is gone. */
  kill(): Promise<void>
}

interface Orders {
  readonly mcp_url: string
  readonly token: string
  readonly queue: string
  readonly lease_seconds: number
}

const ENTRY = fileURLToPath(new URL('./claim-and-hang.js', import.meta.url))

/** A worker in a process of its own, once it has claimed. */
export const startDoomedWorker = async (orders: Orders): Promise<DoomedWorker> => {
  const { mcp_url, token, queue, lease_seconds } = orders
  const child = spawn(process.execPath, [ENTRY, mcp_url, queue, `${lease_seconds}`], {
    // In the environment, not among the arguments: those are for everybody to read.
    env: { PATH: process.env.PATH, AGENT_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Should the demo itself be stopped in between, this process must not stay behind.
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => {
      process.off('exit', killWithUs)
      resolve()
    })
  })
  const first = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    child.once('close', () => resolve('{}'))
  })
  const { id, lease_token } = JSON.parse(first)
  expect(typeof id === 'string', 'the worker process to claim a todo', first)
  return {
    pid: child.pid ?? 0,
    id,
    lease_token,
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}
