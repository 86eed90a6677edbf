import { sentryDsn } from '../lib/installation.ts'
import { whenIdle } from '../lib/when-idle.ts'

let reporter: ((error: unknown) => void) | null = null

/** Loads the error reporter after the first page has rendered, and only if the installation has a DSN. */
export function startErrorReporting(): void {
  const dsn = sentryDsn()
  if (dsn === '') return
  const load = async () => {
    reporter = await (await import('./sentry.ts')).startSentry(dsn)
  }
  // An ad blocker may have removed the file. The app works without it.
  whenIdle()
    .then(load)
    .catch(() => null)
}

/** Reports an error that a boundary caught; Sentry reports other errors automatically. */
export function report(error: unknown): void {
  reporter?.(error)
}
