export { logsHandlers } from './handlers.ts'
export { startLogIngest } from './ingest/start-ingest.ts'
