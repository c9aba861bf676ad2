export { GatewayConfig } from './config.ts'
export { createGateway, type Gateway } from './gateway.ts'
