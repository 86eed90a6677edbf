export { operatorsHandlers } from './handlers.ts'
export { listAllOrgs, listAllSquids } from './list-all.ts'
export { readOverview } from './overview.ts'
export { listUnfinishedDeployments } from './unfinished.ts'
