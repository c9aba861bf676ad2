import { Principal, ServiceError } from '@guildhall/contracts'

/** Callers whose description is remembered. Beyond it the one unused for longest is forgotten. */
export const PRINCIPALS_REMEMBERED_MAX = 1_000

const freeze = (principal: Principal): Principal => {
  if (principal.kind === 'agent') {
    Object.values(principal.scope).forEach(Object.freeze)
    Object.freeze(principal.scope)
  }
  return Object.freeze(principal)
}

const parsePrincipal = (text: string): Principal => {
  const parsed = Principal.safeParse(JSON.parse(text))
  if (parsed.success) return freeze(parsed.data)
  throw new ServiceError('internal', 'the caller is described in an unknown form', {
    cause: parsed.error,
  })
}

/**
 * Reads who calls from the header's text. The same text always means the same, and a few callers
 * make most of the calls, so what was read is kept, frozen, by its text.
 */
export const openPrincipalReader = (): ((text: string) => Principal) => {
  const remembered = new Map<string, Principal>()
  return (text) => {
    const known = remembered.get(text)
    const principal = known ?? parsePrincipal(text)
    // A Map keeps the order of insertion: putting it in again makes it the youngest.
    if (known !== undefined) remembered.delete(text)
    remembered.set(text, principal)
    if (remembered.size > PRINCIPALS_REMEMBERED_MAX) {
      const oldest = remembered.keys().next().value
      if (oldest !== undefined) remembered.delete(oldest)
    }
    return principal
  }
}
