import { findAccount, setOperator } from './account-store.ts'
import { enterPassword, hasPassword, passwordUntil } from './password-entry.ts'
import { saveSupport } from './store.ts'

/** What the operator's console needs of accounts and sessions. */
export const operatorAuth = { enterPassword, findAccount, hasPassword, passwordUntil, saveSupport, setOperator }
