import { DatabaseError } from 'pg'

/**
 * The database is unavailable: it is down, does not respond, is starting, or has no free connections. The query itself may be valid,
 * so the caller may retry later.
 */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** The owner of the request has too many queries at the same time. The database is available to others. */
export class TooManyQueries extends Error {
  override name = 'TooManyQueries'
}

/**
 * SQLSTATEs of temporary failures. Class 08: connection lost. 25006: a standby rejects writes. 53xxx: out of disk, memory or
 * connections. 57P0x: shutting down, crashed, or starting up.
 */
const temporarySqlState = /^(08\w{3}|25006|53\w{3}|57P0[1235])$/

/** Messages of pg about broken or failed connections, which have no error code. */
const connectionErrorMessage =
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
 * Converts an error of `pg` to DatabaseUnavailable if it means that the database is unavailable; returns other errors unchanged.
 * Only for errors of a Postgres connection: socket error codes mean other things elsewhere.
 */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const isTemporary =
    error instanceof DatabaseError
      ? temporarySqlState.test(code)
      : socketErrors.has(code) || connectionErrorMessage.test(error.message)
  if (isTemporary) return new DatabaseUnavailable(`The database is unavailable: ${error.message}`, { cause: error })
  return error instanceof AggregateError && error.errors.length > 0 ? asUnavailable(error.errors[0]) : error
}

/** Whether an error or one of its causes matches: drizzle wraps errors. */
export function isCausedBy(error: unknown, matches: (error: Error) => boolean): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++)
    if (matches(at)) return true
  return false
}

/** Whether an error is DatabaseUnavailable or is caused by it. */
export function isUnavailable(error: unknown): boolean {
  return isCausedBy(error, (at) => at instanceof DatabaseUnavailable)
}

/** Whether an error is TooManyQueries or is caused by it. */
export function isTooManyQueries(error: unknown): boolean {
  return isCausedBy(error, (at) => at instanceof TooManyQueries)
}
