import { createLogger } from '@guildhall/runtime'
import { type NatsServer, startNats } from '@guildhall/testing'
import type { Test } from 'tap'
import { applyTopology, type Bus, connectBus } from '../src/index.ts'

export const log = createLogger({ service: 'bus-test', level: 'silent' })

interface Bundle {
  readonly nats: NatsServer
  readonly bus: Bus
  connect(service: string): Promise<Bus>
}

export const setup = async (t: Test): Promise<Bundle> => {
  const nats = await startNats()
  const open: Bus[] = []
  const connect = async (service: string): Promise<Bus> => {
    const bus = await connectBus({ url: nats.url, service, log })
    open.push(bus)
    return bus
  }
  const bus = await connect('tasks')
  await applyTopology(bus)
  t.teardown(async () => {
    for (const each of open) await each.close()
    await nats.stop()
  })
  return { nats, bus, connect }
}
