export { apiTokens, users } from './tables.ts'
