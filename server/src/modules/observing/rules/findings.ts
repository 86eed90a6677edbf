import type { AlertKind } from '@shoal/contract'
import { isCrashLooping } from '../progress/processor-status.ts'
import { processorFacts } from './processors.ts'
import type { AlertFacts, FactsOf, Finding, Thresholds, OrgFacts, RuleOf, Scope } from './rule.ts'
import { rules } from './rules.ts'

/** Returns all problems of a version. Rules whose threshold is null find nothing. */
export function findingsOf(facts: AlertFacts, thresholds: Thresholds, nowMs: number): Finding[] {
  const { database, containers, processors, processorMetrics } = facts
  const findFor = <S extends Scope>(scope: S, scopeFacts: FactsOf[S]) => findIn(scope, scopeFacts, thresholds, nowMs)
  return [
    ...(database ? findFor('database', { database }) : []),
    ...containers.flatMap((container) => {
      const isLooping = isCrashLooping(container, nowMs)
      const programFindings = findFor('program', { container, isCrashLooping: isLooping })
      if (isLooping || !processors.includes(container.container)) return programFindings
      const metrics = processorMetrics.find(({ processor }) => processor === container.container)
      return [...programFindings, ...findFor('processor', processorFacts(container, metrics, thresholds, nowMs))]
    }),
    ...findFor('api', facts),
    ...findFor('deployment', facts),
  ]
}

/** Returns all problems of an organization as a whole. */
export const orgFindingsOf = (facts: OrgFacts, thresholds: Thresholds, nowMs: number): Finding[] =>
  findIn('organization', facts, thresholds, nowMs)

/** Returns the findings that the page of a version shows, for the default thresholds, not those of its organization. */
export const warningsOf = (facts: AlertFacts, nowMs: number): Finding[] =>
  findingsOf(facts, defaultThresholds, nowMs).filter(({ kind, canOpenAlert }) => canOpenAlert && rules[kind].isWarning)

/** The default threshold of every rule; 0 for a rule without threshold. */
export const defaultThresholds = Object.fromEntries(
  Object.entries(rules).map(([kind, { threshold }]) => [kind, threshold?.initial ?? 0]),
) as Thresholds

function findIn<S extends Scope>(scope: S, facts: FactsOf[S], thresholds: Thresholds, nowMs: number): Finding[] {
  return rulesFor(scope).flatMap(([kind, rule]) => {
    const threshold = thresholds[kind]
    if (threshold === null) return []
    return rule
      .find(facts, threshold, nowMs)
      .map((problem) => ({ sinceMs: null, canOpenAlert: true, ...problem, kind }))
  })
}

const byScope = Map.groupBy(Object.entries(rules), ([, rule]) => rule.appliesTo)
const rulesFor = <S extends Scope>(scope: S) => (byScope.get(scope) ?? []) as unknown as [AlertKind, RuleOf<S>][]
