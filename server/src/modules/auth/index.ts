export {
  addAccount,
  changeAccount,
  deleteUnconfirmedAccounts,
  findConfirmedAccount,
  getAccount,
} from './account-store.ts'
export { tokenRights } from './token-rights.ts'
export { authenticate } from './authenticate.ts'
export { changePassword } from './change-password.ts'
export { confirmationQueue } from './confirm-email.ts'
export { passwords } from './generated-password.ts'
export { authHandlers } from './handlers.ts'
export { authJobs } from './jobs.ts'
export { restoreLinkQueue } from './restore.ts'
export { isMailAllowed } from './mail-limit.ts'
export { operatorAuth } from './operator-auth.ts'
export { listSessions } from './sessions.ts'
export { limitCalls } from './rate-limits.ts'
export { signingKeyContext } from './signing-keys.ts'
export { addApiToken, deleteApiToken, deleteApiTokensOfOrg, endSessionsOf } from './store.ts'
export { apiTokens, users } from './tables.ts'
