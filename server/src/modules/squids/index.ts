export { beatGateway, deleteGateway, gatewaysBehind, noteGatewayRoutes } from './gateways-store.ts'
export { askContainer } from './ask-container.ts'
export { connectionsOf, connectionWatch, whyNoConnections } from './connections.ts'
export {
  closeOtherDatabases,
  collectDatabases,
  databaseVariables,
  dropDatabase,
  eraseDatabase,
  ownerConnection,
  passwordContext,
  syncDatabase,
} from './database.ts'
export { selectSquidDatabase } from './database-store.ts'
export { canTell } from './can-tell.ts'
export { hasFinished } from './ending.ts'
export {
  evaluate,
  secretNamesOf,
  UnknownSecrets,
  type Contexts,
  type Environments,
  type Variables,
} from './environment.ts'
export { findingsOf, limitsOf, type Finding, type Limits } from './findings.ts'
export { squidReadHandlers } from './handlers.ts'
export { findSquid, lookUpSquid, parseReference } from './find.ts'
export {
  forgetImage,
  isImageKnown,
  keepImage,
  keptAmong,
  listKeptImages,
  lockImage,
  noteImage,
  orgsWithUnusedImages,
  unusedImagesOf,
} from './images-store.ts'
export { createHiding, type Hiding } from './hidden-values.ts'
export { listLags } from './lags.ts'
export { InvalidManifest, parseManifest } from './manifest.ts'
export { startObserving } from './observe.ts'
export { isCrash } from './count-runs.ts'
export {
  existingSquids,
  selectContainerStates,
  selectProcessorStates,
  type ContainerRow,
  type ProcessorRow,
} from './observe-store.ts'
export { planOf, type SquidPlan } from './plan.ts'
export { askApi, probeApi, type ApiProbe } from './probe.ts'
export { billedProfile, databaseResources, programResources } from './profiles.ts'
export { secretUseHandlers } from './secret-uses.ts'
export { squidStatusOf } from './status.ts'
export {
  announceSquid,
  beginGeneration,
  countSquids,
  deleteSquid,
  insertSquid,
  listWanted,
  openWorkload,
  sealWorkload,
  selectSquid,
  selectSquidBySlot,
  setLastDeploy,
  squidsChannel,
  updateSquid,
  wantNothing,
  workloadContext,
  type SquidRow,
  type Wanted,
} from './store.ts'
export { readWatched, type WatchedVersion } from './watched.ts'
export { apiPath, apiUrls } from './urls.ts'
export { hasTag, removeTag, setTag, tagsOf } from './tags-store.ts'
export { apiPort, composeWorkload, containerNames, isApi, isInit, isProcessor, metricsPort, only } from './workload.ts'
export { parseWorkloadId, workloadIdOf } from './workload-id.ts'
