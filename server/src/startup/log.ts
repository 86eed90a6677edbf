import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import type { Config } from '../config/config.ts'
import { safeError, safeText } from '../db/safe-error.ts'

/** No value that a person or a squid entered gets into the log by an error. */
const safely: LoggerOptions = {
  serializers: { err: safeError, error: safeError },
  hooks: {
    // Without a sentence of ours pino takes the error's own.
    logMethod(given, method) {
      const [first, sentence] = given as unknown[]
      const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
      if (error instanceof Error && sentence === undefined)
        method.apply(this, [first instanceof Error ? { err: error } : first, safeText(error)] as never)
      else method.apply(this, given)
    },
  },
}

/** The server's own log: lines of JSON, or something to read in a terminal. `to` is for tests. */
export function createLog({ SHOAL_LOG_LEVEL: level }: Pick<Config, 'SHOAL_LOG_LEVEL'>, to?: DestinationStream): Logger {
  if (to) return pino({ level, ...safely }, to)
  if (!process.stdout.isTTY) return pino({ level, ...safely })
  const options = { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }
  return pino({ level, ...safely, transport: { target: 'pino-pretty', options } })
}
