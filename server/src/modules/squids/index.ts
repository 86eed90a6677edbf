export { beatGateway, deleteGateway, gatewaysBehind, saveGatewayRoutes } from './gateways-store.ts'
export { requestContainer } from './request-container.ts'
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
export { isRuleApplicable } from './rule-applicability.ts'
export { hasFinished } from './ending.ts'
export {
  evaluateEnvironments,
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
  deleteImage,
  isImageKnown,
  keepImage,
  keptAmong,
  listKeptImages,
  lockImage,
  recordImage,
  orgsWithUnusedImages,
  unusedImagesOf,
} from './images-store.ts'
export { createRedactorSource, type RedactorSource } from './redactor-source.ts'
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
export { parsePlan, type SquidPlan } from './plan.ts'
export { requestApi, probeApi, type ApiProbe } from './probe.ts'
export { billedProfile, databaseResources, programResources } from './profiles.ts'
export { secretUseHandlers } from './secret-uses.ts'
export { squidStatusOf } from './status.ts'
export {
  announceSquid,
  beginGeneration,
  countSquids,
  deleteSquid,
  insertSquid,
  listDesired,
  openWorkload,
  sealWorkload,
  selectSquid,
  selectSquidBySlot,
  setLastDeploy,
  squidsChannel,
  updateSquid,
  clearDesired,
  workloadContext,
  type SquidRow,
  type DesiredVersion,
} from './store.ts'
export { readAlertSubjects, type AlertSubject } from './alert-subjects.ts'
export { apiPath, apiUrls } from './urls.ts'
export { hasTag, removeTag, setTag, tagsOf } from './tags-store.ts'
export {
  apiPort,
  composeWorkload,
  containerNames,
  isApi,
  isInit,
  isProcessor,
  metricsPort,
  pickContainers,
} from './workload.ts'
export { parseWorkloadId, workloadIdOf } from './workload-id.ts'
