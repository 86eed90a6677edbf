export { startDomains } from './check-domains.ts'
export { domainsHandlers } from './handlers.ts'
export { domainsChannel, selectActiveDomains, type ActiveDomain } from './store.ts'
