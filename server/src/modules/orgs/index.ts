export { createOrg, createPlayground } from './create-org.ts'
export { orgsHandlers } from './handlers.ts'
export { findMembership, findOrgByCode, setOrgStatus } from './store.ts'
export { orgs, roles } from './tables.ts'
