import { DatabaseError } from 'pg'
import { DrizzleQueryError } from './sql.ts'

/** An error without user data, for logs. */
export type SafeError = {
  type: string
  message: string
  stack: string
  code?: string
  constraint?: string
  table?: string
  query?: string
  cause?: SafeError
  errors?: SafeError[]
}

const maxDepth = 8

/**
 * Removes the data of users and squids from an error: query parameters, the rows and values that Postgres quotes (`detail`, `where`,
 * data exceptions), and all unknown properties; likewise from its causes and the errors of an AggregateError.
 */
export function safeError(error: unknown, depth = 0): SafeError {
  if (!(error instanceof Error))
    return { type: typeof error, message: typeof error === 'string' ? error : 'not an Error', stack: '' }
  const message = safeMessage(error)
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown }
  const isDeep = depth >= maxDepth
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message,
    stack: framesOf(error),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(typeof table === 'string' ? { table } : {}),
    ...(error instanceof DrizzleQueryError ? { query: error.query } : {}),
    ...(error.cause !== undefined && !isDeep ? { cause: safeError(error.cause, depth + 1) } : {}),
    ...(error instanceof AggregateError && !isDeep
      ? { errors: error.errors.slice(0, 10).map((e) => safeError(e, depth + 1)) }
      : {}),
  }
}

/** Returns the messages of an error and its causes in one line, for a terminal. */
export function safeText(error: unknown): string {
  const messages: string[] = []
  for (let at: unknown = error, depth = 0; at !== undefined && depth < maxDepth; depth++) {
    const { message } = safeError(at)
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message)
    at = at instanceof Error ? at.cause : undefined
  }
  return messages.join(': ')
}

/** Returns `safeText`, followed by the stack frames. */
export const safeStack = (error: unknown): string => `${safeText(error)}\n${safeError(error).stack}`.trimEnd()

function safeMessage(error: Error): string {
  if (error instanceof DrizzleQueryError) return 'Failed query'
  if (error instanceof DatabaseError) return safePostgresMessage(error)
  // Some errors repeat the message of their cause.
  const { cause } = error
  if (!(cause instanceof Error) || cause.message === '') return error.message
  return error.message.replaceAll(cause.message, () => safeMessage(cause))
}

/** Errors of class 22, and exceptions raised by code in the database, quote values; others name only columns, tables and roles. */
function safePostgresMessage({ message, code = '' }: DatabaseError): string {
  if (code.startsWith('P0')) return 'An error raised by code in the database'
  return code.startsWith('22') ? message.replaceAll(/"[^]*"/g, '"…"').replace(/: [^]*$/, ': …') : message
}

/** Returns only the stack frames, without the message, which may span any number of lines. */
function framesOf({ stack = '', message }: Error): string {
  const at = message === '' ? -1 : stack.indexOf(message)
  const framesText = at < 0 ? stack : stack.slice(at + message.length)
  return framesText
    .split('\n')
    .filter((line) => /^ {4}at (?:\S+ )*\(?\S+:\d+:\d+\)?$/.test(line) || /^ {4}at \S+ \(<anonymous>\)$/.test(line))
    .join('\n')
}
