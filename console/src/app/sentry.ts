/** The only static import of Sentry; error-reporting.ts loads this file on demand. */
export { browserTracingIntegration, captureException, init, replayIntegration } from '@sentry/react'
