import { expect, test, vi } from 'vitest'
import { withoutSecrets } from './secret-addresses.ts'

const init = vi.fn<(options: object) => void>()
vi.mock('@sentry/react', () => ({
  init,
  browserTracingIntegration: () => 'tracing',
  replayIntegration: () => 'replay',
  captureException: () => '',
}))
let dsn = ''
vi.stubGlobal('document', { querySelector: () => ({ content: dsn }) })

const location = { pathname: '/restore/confirm/token', search: '' }
vi.stubGlobal('location', location)

const { startErrorReporting } = await import('./error-reporting.ts')

test('Sentry records all traces, a tenth of the sessions and all sessions with errors (spec 2.3); without a DSN it does not start', async () => {
  vi.useFakeTimers()
  startErrorReporting()
  dsn = 'https://key@sentry.example.com/1'
  startErrorReporting()
  await vi.advanceTimersByTimeAsync(60_000)
  await vi.dynamicImportSettled()
  expect(init).not.toHaveBeenCalled()
  location.pathname = '/'
  await vi.advanceTimersByTimeAsync(2_000)
  vi.useRealTimers()
  await vi.waitFor(() => expect(init).toHaveBeenCalled(), 60_000)
  expect(init.mock.calls).toEqual([
    [
      {
        dsn,
        integrations: ['tracing', 'replay'],
        tracesSampleRate: 1,
        replaysSessionSampleRate: 0.1,
        replaysOnErrorSampleRate: 1,
        beforeSend: expect.any(Function),
        beforeSendSpan: withoutSecrets,
      },
    ],
  ])
})
