import { type MsgHdrs, headers as natsHeaders } from 'nats'
import type { Bus } from './connect.ts'
import { busUnavailable, isCasConflict } from './errors.ts'

interface PublishOptions {
  /** Deduplicates within the stream's window. */
  readonly msg_id?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Refuse when the subject already holds a message: then `duplicate` is true. */
  readonly expect_new_subject?: boolean
}

interface Published {
  readonly sequence: number
  readonly duplicate: boolean
}

/** "maximum messages per subject exceeded", in the texts of all server versions. */
const PER_SUBJECT_LIMIT = /maximum messages per subject/i

const encode = (data: Uint8Array | object): Uint8Array =>
  data instanceof Uint8Array ? data : Buffer.from(JSON.stringify(data))

export const toHeaders = (values: Readonly<Record<string, string>>): MsgHdrs => {
  const result = natsHeaders()
  for (const [name, value] of Object.entries(values)) result.set(name, value)
  return result
}

/** JSON that survives in a header: everything outside ASCII is escaped. */
export const headerJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Stores a message in the stream of its subject. Returns once the server has it on disk. */
export const publish = async (
  bus: Bus,
  subject: string,
  data: Uint8Array | object,
  { msg_id, headers, expect_new_subject }: PublishOptions = {},
): Promise<Published> => {
  try {
    const ack = await bus.js.publish(subject, encode(data), {
      ...(msg_id === undefined ? {} : { msgID: msg_id }),
      ...(headers === undefined ? {} : { headers: toHeaders(headers) }),
      ...(expect_new_subject === true ? { expect: { lastSubjectSequence: 0 } } : {}),
    })
    return { sequence: ack.seq, duplicate: ack.duplicate }
  } catch (error) {
    const refusedAsRepeat =
      isCasConflict(error) || (error instanceof Error && PER_SUBJECT_LIMIT.test(error.message))
    if (expect_new_subject === true && refusedAsRepeat) return { sequence: 0, duplicate: true }
    throw busUnavailable(error)
  }
}
