import { expect, test, vi } from 'vitest'

const init = vi.fn<(options: object) => void>()
vi.mock('@sentry/react', () => ({
  init,
  browserTracingIntegration: () => 'tracing',
  replayIntegration: () => 'replay',
  captureException: () => '',
}))
let dsn = ''
vi.stubGlobal('document', { querySelector: () => ({ content: dsn }) })

const { startErrorReporting } = await import('./error-reporting.ts')

test('Sentry records all traces, a tenth of the sessions and all sessions with errors (spec 2.3); without a DSN it does not start', async () => {
  startErrorReporting()
  dsn = 'https://key@sentry.example.com/1'
  startErrorReporting()
  await vi.waitFor(() => expect(init).toHaveBeenCalled(), 60_000)
  expect(init.mock.calls).toEqual([
    [
      {
        dsn,
        integrations: ['tracing', 'replay'],
        tracesSampleRate: 1,
        replaysSessionSampleRate: 0.1,
        replaysOnErrorSampleRate: 1,
      },
    ],
  ])
})
