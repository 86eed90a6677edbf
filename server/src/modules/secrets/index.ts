export { secretsHandlers } from './handlers.ts'
export { listSecretNames, readSecrets } from './secrets.ts'
