import type { AlertEvent, AlertKind, AlertRuleTexts, OrgStatus, Squid } from '@shoal/contract'
import type { SquidRow } from '../../versions/index.ts'
import type { ObservedApi, ObservedContainer, ObservedDatabase, ObservedProcessor } from '../progress/details-store.ts'

/** A problem that the `find` of a rule returns. */
export type Problem = Pick<AlertEvent, 'severity' | 'container' | 'label' | 'reason'> & {
  /** When the problem began, in epoch milliseconds; null (the default) if unknown. */
  sinceMs?: number | null
  /** False if the problem is too weak to open an alert, but enough to keep an open one. True by default. */
  canOpenAlert?: boolean
}

/** A current problem of a version or an organization. Warnings of versions and alerts are made from findings. */
export type Finding = Required<Problem> & { kind: AlertKind }

/** The threshold of each rule in its unit, 0 for a rule without threshold; null if the rule is off. */
export type Thresholds = Record<AlertKind, number | null>

/** The successful requests to the API of a version in the last five minutes. */
export type Latency = { p95Ms: number; requests: number }

type DatabaseUse = Pick<ObservedDatabase, 'usedBytes' | 'totalBytes'>

/** The facts about a version that rules check. Observations are those of the serving generation. */
export type AlertFacts = {
  status: Squid['status']
  image: string | null
  lastDeploy: SquidRow['lastDeploy']
  apiReplicas: number
  hasuraReplicas: number
  /** The names of the version's processors. */
  processors: string[]
  database: DatabaseUse | null
  containers: ObservedContainer[]
  processorMetrics: ObservedProcessor[]
  apis: ObservedApi[]
  hasura: ObservedApi[]
  /** Undefined if the latency was not measured. */
  latency?: Latency | undefined
}

/** The facts about an organization that rules check. */
export type OrgFacts = {
  status: OrgStatus | null
  quotas: { quota: 'spend' | 'rpc'; used: number; cap: number }[]
}

/** The facts about one processor that rules check. */
export type ProcessorFacts = {
  container: ObservedContainer
  /** The processor's metrics; null if they do not respond or are from an earlier run. */
  current: ObservedProcessor | null
  /** Why the processor has not begun to index; null if it has, or if the rule for this is off. */
  notIndexing: (Pick<Problem, 'severity' | 'reason'> & { sinceMs: number }) | null
  /** Whether the processor reports that it has caught up although it is far behind. False if the rule for this is off. */
  isWronglySynced: boolean
  /** Why the processor makes no progress; null if it does, if another rule reports the cause, or if the rule for this is off. */
  stuck: { reason: string | null; sinceMs: number } | null
  /** Whether the rule `STALLED` has a threshold. */
  isStallRuleOn: boolean
}

/** The facts that `find` receives, by the scope of the rule. Called once for each program, processor, version or organization. */
export type FactsOf = {
  database: { database: DatabaseUse }
  program: { container: ObservedContainer; isCrashLooping: boolean }
  /** A processor that is not in a crash loop. */
  processor: ProcessorFacts
  api: AlertFacts
  deployment: AlertFacts
  organization: OrgFacts
}
/** What a rule checks. */
export type Scope = keyof FactsOf

/**
 * A rule that finds one kind of problem in the facts of its scope. The console shows its texts; an organization can change its
 * threshold.
 */
export type RuleOf<S extends Scope> = AlertRuleTexts & {
  /** When the alert opens, in Markdown, for `docs/alerts.md`. */
  opensWhen: string
  appliesTo: S
  /** A problem must be found for this long before its alert is opened. */
  holdMs: number
  /** A problem must be absent for this long before its alert ends. */
  clearMs: number
  /** Whether the page of a version shows the problem as a warning. */
  isWarning: boolean
  /** `threshold`: the organization's threshold, in the rule's unit; 0 for a rule without threshold. */
  find: (facts: FactsOf[S], threshold: number, nowMs: number) => Problem[]
}

export type Rule = { [S in Scope]: RuleOf<S> }[Scope]
