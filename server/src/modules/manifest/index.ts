export { type Contexts, evaluateEnvironments, secretNamesOf, UnknownSecrets, type Variables } from './environment.ts'
export { variablesOfManifest, receivesSecret } from './given-secrets.ts'
export { InvalidManifest, parseManifest } from './manifest.ts'
export { parsePlan, type SquidPlan } from './plan.ts'
export { billedProfile, programResources } from './profiles.ts'
export { parseWorkloadId, workloadIdOf } from './workload-id.ts'
export {
  apiPort,
  composeWorkload,
  containerNames,
  isApi,
  isInit,
  isProcessor,
  metricsPort,
  pickContainers,
  stopGraceMsOf,
} from './workload.ts'
