import { browserTracingIntegration, captureException, init, replayIntegration, type Event } from '@sentry/react'
import { hasSecret, withoutSecrets } from './secret-addresses.ts'

const pollMs = 1000

/**
 * Starts Sentry after the user has left pages whose address has a secret, because replays record addresses. error-reporting.ts loads
 * this file on demand; no other file imports Sentry. Spec 2.3: it records all traces, and replays of a tenth of the sessions and of every
 * session with an error. Returns a function that reports an error.
 */
export async function startSentry(dsn: string): Promise<(error: unknown) => void> {
  while (hasSecret(location)) await new Promise((done) => setTimeout(done, pollMs))
  init({
    dsn,
    integrations: [browserTracingIntegration(), replayIntegration()],
    tracesSampleRate: 1,
    replaysSessionSampleRate: 0.1,
    replaysOnErrorSampleRate: 1,
    // The address at which the tab was opened is in the measurements of the browser even after the user has left it.
    beforeSend: redacted,
    beforeSendSpan: withoutSecrets,
  })
  return (error) => void captureException(error)
}

/** Sentry's own metadata has circular references. Sentry needs it to send the event, and does not send it. */
function redacted<E extends Event>({ sdkProcessingMetadata, ...event }: E): E {
  return { ...withoutSecrets(event), sdkProcessingMetadata } as E
}
