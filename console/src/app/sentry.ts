import { browserTracingIntegration, captureException, init, replayIntegration } from '@sentry/react'

/**
 * Starts Sentry; the only file that imports it, which error-reporting.ts loads on demand. Spec 2.3: all traces, a tenth of the
 * sessions replayed, and every session with an error. Returns a function that reports an error.
 */
export function startSentry(dsn: string): (error: unknown) => void {
  init({
    dsn,
    integrations: [browserTracingIntegration(), replayIntegration()],
    tracesSampleRate: 1,
    replaysSessionSampleRate: 0.1,
    replaysOnErrorSampleRate: 1,
  })
  return (error) => void captureException(error)
}
