export { connectionsOf, connectionWatch, whyNoConnections } from './connections.ts'
export { selectSquidDatabase } from './database-store.ts'
export {
  closeOtherDatabases,
  collectDatabases,
  databaseVariables,
  dropDatabase,
  eraseDatabase,
  ownerConnection,
  passwordContext,
  readerConnection,
  type SquidConnection,
  syncDatabase,
} from './database.ts'
export { exportDatabase } from './export/export-database.ts'
export { diskUsage } from './measuring/disk-usage.ts'
export { observeDatabases } from './measuring/observe-databases.ts'
export { createRedactorSource, type RedactorSource } from './redactor-source.ts'
export { databaseResources } from './resources.ts'
