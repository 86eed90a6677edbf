import type { AlertEvent, AlertKind, OrgStatus, Squid } from '@shoal/contract'
import type { SquidRow } from '../../versions/index.ts'
import type { ObservedApi, ObservedContainer, ObservedDatabase, ObservedProcessor } from '../progress/parts-store.ts'

/** One problem, as the `find` of a rule returns it. */
export type Found = Pick<AlertEvent, 'severity' | 'container' | 'label' | 'reason'> & {
  /** When it began, in epoch milliseconds; null (the default): unknown. */
  sinceMs?: number | null
  /** False: too weak to open an alert, but enough to keep an open one. True by default. */
  isClear?: boolean
}

/** A problem that a version or an organization has now. Warnings of a version and alerts are made from findings. */
export type Finding = Required<Found> & { kind: AlertKind }

/** The threshold of each rule in its unit, 0 for a rule without threshold; null: the rule is off. */
export type Limits = Record<AlertKind, number | null>

/** The successful requests to the API of a version in the last five minutes. */
export type Latency = { p95Ms: number; requests: number }

type DatabaseUse = Pick<ObservedDatabase, 'usedBytes' | 'totalBytes'>

/** The facts about a version that rules check. Observations are those of the serving generation. */
export type AlertFacts = {
  status: Squid['status']
  image: string | null
  lastDeploy: SquidRow['lastDeploy']
  apiReplicas: number
  /** The names of its processors. */
  processors: string[]
  database: DatabaseUse | null
  containers: ObservedContainer[]
  /** The metrics of processors. */
  seen: ObservedProcessor[]
  apis: ObservedApi[]
  /** Undefined when it was not measured. */
  latency?: Latency | undefined
}

/** The facts about an organization that rules check. */
export type OrgFacts = {
  status: OrgStatus | null
  quotas: { quota: 'spend' | 'rpc'; used: number; cap: number }[]
}

export type ProcessorFacts = {
  container: ObservedContainer
  /** Its metrics; null when it does not respond or they are from an earlier run. */
  current: ObservedProcessor | null
  /** Why it has not begun to index; null if it has, or if the rule for this is off. */
  notIndexing: (Pick<Found, 'severity' | 'reason'> & { sinceMs: number }) | null
  /** It reports that it has caught up although it is far behind. False if the rule for this is off. */
  isWronglySynced: boolean
  /** Why it makes no progress. Null if another rule reports the cause, or if the rule for this is off. */
  stuck: { reason: string | null; sinceMs: number } | null
  isStallRuleOn: boolean
}

/** What a rule applies to, and the facts its `find` receives: once for each program, processor, version or organization. */
export type FactsOf = {
  database: { database: DatabaseUse }
  program: { container: ObservedContainer; isCrashLooping: boolean }
  /** A processor that is not in a crash loop. */
  processor: ProcessorFacts
  api: AlertFacts
  deployment: AlertFacts
  organization: OrgFacts
}
export type Scope = keyof FactsOf

export type RuleOf<S extends Scope> = {
  appliesTo: S
  /** A problem must be found for this long before its alert is opened. */
  holdMs: number
  /** A problem must be absent for this long before its alert ends. */
  clearMs: number
  /** The page of a version shows it as a warning. */
  isWarning: boolean
  /** `threshold`: of the organization, in the rule's unit; 0 for a rule without one. */
  find: (facts: FactsOf[S], threshold: number, nowMs: number) => Found[]
}

export type Rule = { [S in Scope]: RuleOf<S> }[Scope]
