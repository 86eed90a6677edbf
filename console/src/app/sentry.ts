import { browserTracingIntegration, captureException, init, replayIntegration } from '@sentry/react'
import { withoutSecrets } from './secret-addresses.ts'

/**
 * Starts Sentry. error-reporting.ts loads this file on demand; no other file imports Sentry. Spec 2.3: it records all traces, and replays
 * of a tenth of the sessions and of every session with an error. Must not run on a page whose address has a secret (`hasSecret`), because
 * replays record it. Returns a function that reports an error.
 */
export function startSentry(dsn: string): (error: unknown) => void {
  init({
    dsn,
    integrations: [browserTracingIntegration(), replayIntegration()],
    tracesSampleRate: 1,
    replaysSessionSampleRate: 0.1,
    replaysOnErrorSampleRate: 1,
    // The address at which the tab was opened is in the measurements of the browser even after the user has left it.
    beforeSend: withoutSecrets,
    beforeSendTransaction: withoutSecrets,
  })
  return (error) => void captureException(error)
}
