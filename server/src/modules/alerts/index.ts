export { channelUrlContext, signingSecretContext } from './channels/present.ts'
export { channelJobs } from './channels/jobs.ts'
export { startTelling } from './channels/telling.ts'
export { alertsHandlers } from './handlers.ts'
