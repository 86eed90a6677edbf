import { DatabaseError } from 'pg'

/**
 * The database cannot be asked now: it is down, does not answer, is starting, or has no connection left. Whoever asked may ask
 * again later; nothing is wrong with the question.
 */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/**
 * SQLSTATEs by which Postgres refuses for now. Class 08: connection lost. 25006: a standby takes no writes. 53xxx: out of disk,
 * memory or connections. 57P0x: shutting down, crashed, or starting up.
 */
const refusedForNow = /^(08\w{3}|25006|53\w{3}|57P0[1235])$/

/** Messages of pg for a connection that broke or that could not be made. They have no code of their own. */
const broken =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout e|Cannot use a pool)/

const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENOENT',
])

/**
 * What `pg` threw, as DatabaseUnavailable when it means that the database cannot be asked now, otherwise as it is. Only for errors
 * of a connection to Postgres: the codes of sockets mean other things elsewhere.
 */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const isAway =
    error instanceof DatabaseError ? refusedForNow.test(code) : socketErrors.has(code) || broken.test(error.message)
  if (isAway) return new DatabaseUnavailable(`The database cannot be asked now: ${error.message}`, { cause: error })
  return error instanceof AggregateError && error.errors.length > 0 ? asUnavailable(error.errors[0]) : error
}

/** Also when it is wrapped, as drizzle does. */
export function isUnavailable(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++)
    if (at instanceof DatabaseUnavailable) return true
  return false
}
