import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { restartEmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.ts'
import { runningPort } from './postgres-program.ts'

/** Postgres keeps crashing. The message contains the end of the Postgres log, for the operator. */
export class PostgresGaveUp extends Error {
  override name = 'PostgresGaveUp'
}

/** The options of `startEmbeddedPostgres`, and callbacks. */
export type WatchOptions = EmbeddedPostgresOptions & {
  log: (message: string) => void
  /** Called once; then it is no longer watched. */
  gaveUp: (error: PostgresGaveUp) => void
}

const pollMs = 500
const maxFailures = 3
const withinMs = 60_000

/**
 * Restarts the embedded Postgres when it has crashed. It is not a child of the server, since it outlives it. A stopped (SIGSTOP) or
 * busy Postgres has not crashed. Several processes may watch the same one.
 * @returns a function that stops watching; call it before stopping Postgres on purpose
 */
export function watchEmbeddedPostgres({ log, gaveUp, ...options }: WatchOptions): () => Promise<void> {
  const closing = new AbortController()
  const dataDir = join(options.dir, 'data')
  let failures: number[] = []

  const failed = (what: string) => {
    const nowMs = performance.now()
    failures = [...failures.filter((atMs) => atMs > nowMs - withinMs), nowMs]
    log(`${what} The end of its log:\n${endOfLog(dataDir)}`)
    if (failures.length < maxFailures) return true
    gaveUp(
      new PostgresGaveUp(
        `The embedded Postgres ended or did not start ${maxFailures} times within a minute, so the server ends. The end of ${logFile(dataDir)}:\n${endOfLog(dataDir)}`,
      ),
    )
    return false
  }

  const watch = async () => {
    while (!closing.signal.aborted) {
      await pause(pollMs, undefined, { signal: closing.signal }).catch(() => undefined)
      if (closing.signal.aborted || runningPort(dataDir) !== null) continue
      if (!failed('The embedded Postgres has ended by itself; it is started again.')) return
      const problem = await restartEmbeddedPostgres(options).then(
        () => null,
        (error: unknown) => error as Error,
      )
      if (!problem) log('The embedded Postgres runs again.')
      else if (!failed(`The embedded Postgres could not be started again: ${problem.message.split('. ')[0]}.`)) return
    }
  }
  const watching = watch()
  return async () => {
    closing.abort()
    await watching
  }
}

const logFile = (dataDir: string) => join(dataDir, 'postgres.log')

/** Excludes statements and their details, which contain user input. */
function endOfLog(dataDir: string): string {
  const file = logFile(dataDir)
  if (!existsSync(file)) return '(there is none)'
  const lines = readFileSync(file, 'utf8').slice(-20_000).split('\n')
  return lines
    .filter((line) => /\b(LOG|WARNING|FATAL|PANIC):/.test(line))
    .slice(-8)
    .join('\n')
}
