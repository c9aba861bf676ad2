import { parseNetwork, serviceConfigShape } from '@guildhall/runtime'
import { z } from 'zod'

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  )

const isNetwork = (text: string): boolean => {
  try {
    parseNetwork(text)
    return true
  } catch {
    return false
  }
}

const networks = list.refine((entries) => entries.every(isNetwork), {
  message: 'must be a list of addresses or CIDR networks, separated by commas',
})

export const GatewayConfig = z.object({
  ...serviceConfigShape,
  /** MCP, REST and login. 0 picks a free port. */
  HTTP_PORT: z.coerce.number().int().min(0).max(65_535).default(8_080),
  /** How clients reach /mcp. Its host passes the Host check; https makes cookies Secure. */
  PUBLIC_MCP_URL: z.url().default('http://127.0.0.1:8080/mcp'),
  /** Pages of other origins that may call us, e.g. https://app.example. Programs need no entry. */
  ALLOWED_ORIGINS: list,
  /** Further values of the Host header, e.g. the name inside a cluster. */
  ALLOWED_HOSTS: list,
  /** Proxies whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: networks,
  /** For callers that cannot prove who they are, per address. */
  ADDRESS_RATE_PER_SECOND: z.coerce.number().positive().default(50),
  ADDRESS_RATE_BURST: z.coerce.number().int().min(1).default(100),
  /** How long /ready says no before the listener closes, for load balancers to notice. */
  DRAIN_DELAY_MS: z.coerce.number().int().min(0).max(20_000).default(0),
})
export type GatewayConfig = z.infer<typeof GatewayConfig>
