export { createOrg, createPlayground } from './create-org.ts'
export { orgsHandlers } from './handlers.ts'
export { presentOrg, suspensionOf } from './present-org.ts'
export { listInvitations } from './invitations.ts'
export { listAdminEmails, notificationEmail } from './role-store.ts'
export {
  addQuotaUse,
  changeOrg,
  deleteOrg,
  deletePlaygroundsOf,
  deleteQuotaUseBefore,
  findMembership,
  findOrgByCode,
  findSupported,
  getOrg,
  listOrgsOf,
  lockOrg,
  quotaUsed,
  setOrgStatus,
  type OrgRow,
} from './store.ts'
export { orgs, quotaUsage } from './tables.ts'
