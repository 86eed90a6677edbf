export { operatorsHandlers } from './handlers.ts'
