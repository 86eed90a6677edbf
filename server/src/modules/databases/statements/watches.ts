import { createCatalogWatch } from './catalog-watch.ts'
import { createLockWatch } from './lock-watch.ts'
import { createNotificationWatch } from './notification-watch.ts'
import { createStatementWatch } from './statement-watch.ts'

/**
 * Functions that create the watches of the sessions of tenants: of what they write to shared catalogs, the locks that they hold, the
 * notifications that they do not read, and the duration of their statements.
 */
export const watches = {
  ofCatalogs: createCatalogWatch,
  ofLocks: createLockWatch,
  ofNotifications: createNotificationWatch,
  ofStatements: createStatementWatch,
}
