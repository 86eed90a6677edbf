export { createOrg, createPlayground } from './create-org.ts'
export { orgsHandlers } from './handlers.ts'
export { addMember } from './members.ts'
export { orgAnswer } from './org-answer.ts'
export { listAdminEmails, listInvitationsTo, notificationEmail } from './role-store.ts'
export {
  changeOrg,
  deletePlaygroundsOf,
  findMembership,
  findOrgByCode,
  getOrg,
  listOrgsOf,
  lockOrg,
  setOrgStatus,
  type OrgRow,
} from './store.ts'
export { orgs, quotaUsage } from './tables.ts'
