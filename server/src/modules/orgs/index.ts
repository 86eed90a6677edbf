export { orgs, roles } from './tables.ts'
