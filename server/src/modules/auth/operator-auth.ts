import { findAccount, setOperator } from './account-store.ts'
import { enterPassword, hasPassword, passwordUntil } from './password-entry.ts'
import { endSessionOf, saveSupport } from './store.ts'

/** The functions of accounts and sessions that the operator's console uses. */
export const operatorAuth = {
  endSessionOf,
  enterPassword,
  findAccount,
  hasPassword,
  passwordUntil,
  saveSupport,
  setOperator,
}
