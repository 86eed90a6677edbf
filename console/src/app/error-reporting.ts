import { sentryDsn } from '../lib/installation.ts'

type Reporter = (error: unknown) => void
let reporter: Reporter | null = null

/**
 * Loads the error reporter after the first page has rendered, and only if the installation has a DSN. Spec 2.3: all
 * traces, a tenth of the sessions replayed, and every session with an error.
 */
export function startErrorReporting(): void {
  const dsn = sentryDsn()
  if (dsn === '') return
  const load = async () => {
    const sentry = await import('./sentry.ts')
    sentry.init({
      dsn,
      integrations: [sentry.browserTracingIntegration(), sentry.replayIntegration()],
      tracesSampleRate: 1,
      replaysSessionSampleRate: 0.1,
      replaysOnErrorSampleRate: 1,
    })
    reporter = (error) => void sentry.captureException(error)
  }
  requestIdleCallback(() => void load())
}

/** Reports an error that a boundary caught; Sentry reports other errors automatically. */
export function report(error: unknown): void {
  reporter?.(error)
}
