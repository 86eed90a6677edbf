import { alertRules, type AlertKind } from '@shoal/contract'
import { isCrashLooping } from '../progress/processor-status.ts'
import { processorFacts } from './processors.ts'
import type { AlertFacts, FactsOf, Finding, Limits, OrgFacts, RuleOf, Scope } from './rule.ts'
import { rules } from './rules.ts'

/** Everything wrong with a version. Rules whose limit is null find nothing. */
export function findingsOf(facts: AlertFacts, limits: Limits, nowMs: number): Finding[] {
  const { database, containers, processors, seen } = facts
  const find = <S extends Scope>(scope: S, of: FactsOf[S]) => findIn(scope, of, limits, nowMs)
  return [
    ...(database ? find('database', { database }) : []),
    ...containers.flatMap((container) => {
      const isLooping = isCrashLooping(container, nowMs)
      const found = find('program', { container, isCrashLooping: isLooping })
      if (isLooping || !processors.includes(container.container)) return found
      const metrics = seen.find(({ processor }) => processor === container.container)
      return [...found, ...find('processor', processorFacts(container, metrics, limits, nowMs))]
    }),
    ...find('api', facts),
    ...find('deployment', facts),
  ]
}

/** Everything wrong with an organization as a whole. */
export const orgFindingsOf = (facts: OrgFacts, limits: Limits, nowMs: number): Finding[] =>
  findIn('organization', facts, limits, nowMs)

/** The findings that the page of a version shows. They use the default thresholds, not those of its organization. */
export const warningsOf = (facts: AlertFacts, nowMs: number): Finding[] =>
  findingsOf(facts, defaultLimits, nowMs).filter(({ kind, isClear }) => isClear && rules[kind].isWarning)

export const defaultLimits = Object.fromEntries(
  Object.entries(alertRules).map(([kind, { threshold }]) => [kind, threshold?.initial ?? 0]),
) as Limits

function findIn<S extends Scope>(scope: S, facts: FactsOf[S], limits: Limits, nowMs: number): Finding[] {
  return rulesFor(scope).flatMap(([kind, rule]) => {
    const threshold = limits[kind]
    if (threshold === null) return []
    return rule.find(facts, threshold, nowMs).map((found) => ({ sinceMs: null, isClear: true, ...found, kind }))
  })
}

const byScope = Map.groupBy(Object.entries(rules), ([, rule]) => rule.appliesTo)
const rulesFor = <S extends Scope>(scope: S) => (byScope.get(scope) ?? []) as unknown as [AlertKind, RuleOf<S>][]
