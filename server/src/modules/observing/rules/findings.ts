import { alertRules, type AlertKind } from '@shoal/contract'
import { isCrashLooping } from '../progress/processor-status.ts'
import { processorFacts } from './processors.ts'
import type { AlertFacts, FactsOf, Finding, Limits, OrgFacts, RuleOf, Scope } from './rule.ts'
import { rules } from './rules.ts'

/** Returns all problems of a version. Rules whose limit is null find nothing. */
export function findingsOf(facts: AlertFacts, limits: Limits, nowMs: number): Finding[] {
  const { database, containers, processors, processorMetrics } = facts
  const findFor = <S extends Scope>(scope: S, scopeFacts: FactsOf[S]) => findIn(scope, scopeFacts, limits, nowMs)
  return [
    ...(database ? findFor('database', { database }) : []),
    ...containers.flatMap((container) => {
      const isLooping = isCrashLooping(container, nowMs)
      const programFindings = findFor('program', { container, isCrashLooping: isLooping })
      if (isLooping || !processors.includes(container.container)) return programFindings
      const metrics = processorMetrics.find(({ processor }) => processor === container.container)
      return [...programFindings, ...findFor('processor', processorFacts(container, metrics, limits, nowMs))]
    }),
    ...findFor('api', facts),
    ...findFor('deployment', facts),
  ]
}

/** Returns all problems of an organization as a whole. */
export const orgFindingsOf = (facts: OrgFacts, limits: Limits, nowMs: number): Finding[] =>
  findIn('organization', facts, limits, nowMs)

/** Returns the findings that the page of a version shows, for the default thresholds, not those of its organization. */
export const warningsOf = (facts: AlertFacts, nowMs: number): Finding[] =>
  findingsOf(facts, defaultLimits, nowMs).filter(({ kind, canOpenAlert }) => canOpenAlert && rules[kind].isWarning)

/** The default threshold of every rule; 0 for a rule without threshold. */
export const defaultLimits = Object.fromEntries(
  Object.entries(alertRules).map(([kind, { threshold }]) => [kind, threshold?.initial ?? 0]),
) as Limits

function findIn<S extends Scope>(scope: S, facts: FactsOf[S], limits: Limits, nowMs: number): Finding[] {
  return rulesFor(scope).flatMap(([kind, rule]) => {
    const threshold = limits[kind]
    if (threshold === null) return []
    return rule
      .find(facts, threshold, nowMs)
      .map((problem) => ({ sinceMs: null, canOpenAlert: true, ...problem, kind }))
  })
}

const byScope = Map.groupBy(Object.entries(rules), ([, rule]) => rule.appliesTo)
const rulesFor = <S extends Scope>(scope: S) => (byScope.get(scope) ?? []) as unknown as [AlertKind, RuleOf<S>][]
