import { randomBytes } from 'node:crypto'

/** 96 random bits, enough to find one call in the logs of all services. */
export const newRequestId = (): string => `req_${randomBytes(12).toString('base64url')}`
