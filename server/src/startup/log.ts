import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import type { Config } from '../config/config.ts'
import { safeError, safeText } from '../db/safe-error.ts'

/** Prevents data of users and squids, which errors may contain, from reaching the log. */
const safeOptions: LoggerOptions = {
  serializers: { err: safeError, error: safeError },
  hooks: {
    // Without a message, pino would log the message of the error.
    logMethod(args, method) {
      const [first, message] = args as unknown[]
      const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
      if (error instanceof Error && message === undefined)
        method.apply(this, [first instanceof Error ? { err: error } : first, safeText(error)] as never)
      else method.apply(this, args)
    },
  },
}

/** Creates the log of the server: JSON lines, or readable text on a terminal. Tests pass a destination. */
export function createLog(
  { SHOAL_LOG_LEVEL: level }: Pick<Config, 'SHOAL_LOG_LEVEL'>,
  destination?: DestinationStream,
): Logger {
  if (destination) return pino({ level, ...safeOptions }, destination)
  if (!process.stdout.isTTY) return pino({ level, ...safeOptions })
  const options = { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }
  return pino({ level, ...safeOptions, transport: { target: 'pino-pretty', options } })
}
