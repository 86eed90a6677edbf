export { isCrash } from './containers/count-runs.ts'
export { restartUnlessFinished } from './containers/ending.ts'
export {
  type ContainerTotals,
  type ProcessorProgress,
  selectContainerTotals,
  selectProcessorProgress,
} from './observe-store.ts'
export { startObserving } from './observe.ts'
export { type ApiProbe, serverProbeOf } from './probing/probe.ts'
export { requestContainer } from './probing/request-container.ts'
export { lagOf } from './progress/lag.ts'
export { listLags } from './progress/lags.ts'
export { readVersionDetails, type VersionDetails } from './progress/read-details.ts'
export { processorStatus } from './progress/processor-status.ts'
export { findingsOf, orgFindingsOf, warningsOf } from './rules/findings.ts'
export { isRuleApplicable } from './rules/applicability.ts'
export { rules } from './rules/rules.ts'
export type { AlertFacts, Finding, Latency, Thresholds } from './rules/rule.ts'
