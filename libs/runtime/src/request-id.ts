import { randomUUID } from 'node:crypto'

/** Enough to find one call in the logs of all services. Drawn from entropy that Node keeps ready. */
export const newRequestId = (): string => `req_${randomUUID()}`
