export { channelUrlContext, signingSecretContext } from './channels/present.ts'
export { alertsHandlers } from './handlers.ts'
