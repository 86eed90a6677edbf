/** The one static import of Sentry; error-reporting.ts loads this file when it is wanted. */
export { browserTracingIntegration, captureException, init, replayIntegration } from '@sentry/react'
