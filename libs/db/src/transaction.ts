import { codeOf, type Db, dbError, type Trx } from './connect.ts'

const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'
const TRIES = 5

const repeated = async <T>(work: () => PromiseLike<T>): Promise<T> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      const state = codeOf(error)
      const repeat = state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED
      if (!repeat || tried >= TRIES) throw dbError(error)
    }
  }
}

/**
 * Runs the work in one READ COMMITTED transaction. Repeats it, a bounded number of times, when
 * PostgreSQL asks for that; so the work must have no effect outside the transaction.
 */
export const transaction = async <T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> =>
  await repeated(() => db.transaction(work))

/** One statement that needs no transaction around it, repeated likewise. */
export const statement = async <T>(work: () => PromiseLike<T>): Promise<T> => await repeated(work)

/** One statement, or a few that need no transaction, with database errors wrapped. */
export const query = async <T>(work: () => PromiseLike<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw dbError(error)
  }
}

/** Whether the database answers, for readiness. Never throws. */
export const canQuery = async (db: Db): Promise<boolean> =>
  await db.raw('select 1').then(
    () => true,
    () => false,
  )
