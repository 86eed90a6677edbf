export { createConnectionCheck, limitConnections, NoConnections } from './connections.ts'
export { installationPrefix, selectSquidDatabase } from './database-store.ts'
export {
  dropOrphanedDatabases,
  databaseVariables,
  dropDatabase,
  eraseDatabase,
  ownerConnection,
  readerConnection,
  type SquidConnection,
  syncDatabase,
} from './database.ts'
export { exportDatabase } from './export/export-database.ts'
export { classifyDiskUsage } from './measuring/disk-usage.ts'
export { logins } from './logins.ts'
export { observeDatabases } from './measuring/observe-databases.ts'
export { passwordContext } from './passwords.ts'
export { reconcileDatabases } from './reconcile-databases.ts'
export { servers } from './servers.ts'
export { watches } from './statements/watches.ts'
export { createRedactorLookup, type RedactorLookup } from './redactor-lookup.ts'
export { databaseResources } from './resources.ts'
