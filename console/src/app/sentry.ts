import { browserTracingIntegration, captureException, init, replayIntegration } from '@sentry/react'

/**
 * Starts Sentry. error-reporting.ts loads this file on demand; no other file imports Sentry. Spec 2.3: it records all traces, and replays
 * of a tenth of the sessions and of every session with an error. Returns a function that reports an error.
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
