import { createLockWatch } from './lock-watch.ts'
import { createStatementWatch } from './statement-watch.ts'

/** Functions that create the watches of the sessions of tenants: of the locks that they hold, and of the duration of their statements. */
export const watches = { ofLocks: createLockWatch, ofStatements: createStatementWatch }
