export { datasetsOf, datasetSourceOf, type Dataset } from './catalogue.ts'
export { portalHandlers } from './handlers.ts'
export { addPortalUsage, deletePortalUsageBefore, type PortalUsageRow } from './store.ts'
