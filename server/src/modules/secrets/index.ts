export { secretsHandlers } from './handlers.ts'
export { createRedactor, redactJson, type Redactor } from './redactor.ts'
export { listSecretNames, readValuesToRedact, readSecrets, secretContext } from './secrets.ts'
