import { readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import type { ClusterAddress } from './create-cluster.ts'
import { restartEmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.ts'
import { runningPort } from './postgres-program.ts'

/** Postgres crashes repeatedly. The message contains the end of the Postgres log, for the operator. */
export class PostgresCrashLoopError extends Error {
  override name = 'PostgresCrashLoopError'
}

/** The options of `startEmbeddedPostgres`, and callbacks. */
export type PostgresWatchOptions = EmbeddedPostgresOptions & {
  log: (message: string) => void
  /** Called once when Postgres crashes repeatedly; Postgres is then no longer watched. Null: Postgres is restarted with increasing delays. */
  onCrashLoop: ((error: PostgresCrashLoopError) => void) | null
  /** Set if Postgres did not start at all: why, and the address at which to start it. */
  notStarted?: { reason: string; address: ClusterAddress } | undefined
}

const pollMs = 500
const maxFailures = 3
const failureWindowMs = 60_000
/** Without `onCrashLoop`, the delay before a restart doubles with each failure, from `first` to `max`. */
const retryMs = { first: 1000, max: 60_000 }

/**
 * Restarts the embedded Postgres when it has crashed. It polls, since Postgres outlives the server and is not its child. A stopped
 * (SIGSTOP) or busy Postgres has not crashed. Several processes may watch the same one.
 * @returns a function that stops watching; call it before stopping Postgres on purpose
 */
export function watchEmbeddedPostgres({
  log,
  onCrashLoop,
  notStarted,
  ...options
}: PostgresWatchOptions): () => Promise<void> {
  const closing = new AbortController()
  const dataDir = join(options.dir, 'data')
  const wait = (ms: number) => pause(ms, undefined, { signal: closing.signal }).catch(() => undefined)
  let failures: number[] = []
  let delayMs = 0

  /** Logs and counts a failure. Resolves after the delay before the restart; to false when Postgres should not be restarted. */
  const recordFailure = async (event: string): Promise<boolean> => {
    const nowMs = performance.now()
    const sinceLastMs = nowMs - (failures.at(-1) ?? -Infinity)
    failures = [...failures.filter((failedAtMs) => failedAtMs > nowMs - failureWindowMs), nowMs]
    log(`${event} The end of its log:\n${endOfLog(dataDir)}`)
    if (!onCrashLoop) {
      const isFirst = sinceLastMs > delayMs + failureWindowMs
      delayMs = isFirst ? 0 : Math.min(retryMs.max, Math.max(retryMs.first, 2 * delayMs))
      await wait(delayMs)
      return true
    }
    if (failures.length < maxFailures) return true
    onCrashLoop(
      new PostgresCrashLoopError(
        `The embedded Postgres in ${options.dir} ended or did not start ${maxFailures} times within a minute, so Shoal stops. The end of ${logFile(dataDir)}:\n${endOfLog(dataDir)}`,
      ),
    )
    return false
  }

  /** Restarts Postgres until it runs. Resolves to false when it should not be restarted. */
  const restart = async (event: string): Promise<boolean> => {
    for (let failure: string | null = event; failure !== null;) {
      if (!(await recordFailure(failure))) return false
      if (closing.signal.aborted) return false
      failure = await restartEmbeddedPostgres(options, notStarted?.address).then(
        () => null,
        (error: Error) => `The embedded Postgres in ${options.dir} could not be restarted: ${error.message}.`,
      )
    }
    log(`The embedded Postgres in ${options.dir} was restarted.`)
    return true
  }

  /** Restarts Postgres if it has crashed. Resolves to false when it should not be restarted. */
  const check = async (): Promise<boolean> => {
    truncateLog(dataDir)
    if (closing.signal.aborted || runningPort(dataDir) !== null) return true
    return await restart(`The embedded Postgres in ${options.dir} stopped unexpectedly and is being restarted.`)
  }

  const watch = async () => {
    if (notStarted && !(await restart(`${notStarted.reason}. Shoal tries to start it again.`))) return
    let problem: string | null = null
    let isWatched = true
    while (isWatched && !closing.signal.aborted) {
      await wait(pollMs)
      try {
        isWatched = await check()
        problem = null
      } catch (error) {
        // The disk cannot be read, or too many files are open: both may pass. A problem that persists is logged once.
        const { message } = error as Error
        if (message !== problem)
          log(`Shoal cannot see whether the embedded Postgres in ${options.dir} runs: ${message}.`)
        problem = message
      }
    }
  }
  const watching = watch().catch((error: Error) => {
    log(`The embedded Postgres in ${options.dir} is no longer restarted when it crashes: ${error.message}`)
  })
  return async () => {
    closing.abort()
    await watching
  }
}

const maxLogBytes = 64 * 2 ** 20

/** Empties the log of Postgres when it is large: statements of tenants can fill it. Postgres appends to the same file. */
export function truncateLog(dataDir: string, maxBytes = maxLogBytes): void {
  try {
    if (statSync(logFile(dataDir)).size > maxBytes) truncateSync(logFile(dataDir))
  } catch {
    // There is no log yet, or the disk fails; Postgres reports that.
  }
}

const logFile = (dataDir: string) => join(dataDir, 'postgres.log')

/** Returns the end of the log without statements and their details, which contain user input. */
function endOfLog(dataDir: string): string {
  let lines: string[]
  try {
    lines = readFileSync(logFile(dataDir), 'utf8').slice(-20_000).split('\n')
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? '(there is none)' : `(it cannot be read: ${(error as Error).message})`
  }
  return lines
    .filter((line) => /\b(LOG|WARNING|FATAL|PANIC):/.test(line))
    .slice(-8)
    .join('\n')
}
