import { sentryDsn } from '../lib/installation.ts'
import { whenIdle } from '../lib/when-idle.ts'
import { hasSecret } from './secret-addresses.ts'

const pollMs = 1000

let reporter: ((error: unknown) => void) | null = null

/**
 * Loads the error reporter after the first page has rendered, and only if the installation has a DSN. Waits until the user has left
 * pages whose address has a secret, so that the reporter cannot record it.
 */
export function startErrorReporting(): void {
  const dsn = sentryDsn()
  if (dsn === '') return
  const load = async () => {
    reporter = (await import('./sentry.ts')).startSentry(dsn)
  }
  // An ad blocker may have removed the file. The app works without it.
  whenIdle()
    .then(untilAddressHasNoSecret)
    .then(load)
    .catch(() => null)
}

async function untilAddressHasNoSecret(): Promise<void> {
  while (hasSecret(location)) await new Promise((done) => setTimeout(done, pollMs))
}

/** Reports an error that a boundary caught; Sentry reports other errors automatically. */
export function report(error: unknown): void {
  reporter?.(error)
}
