import type { AlertKind } from '@shoal/contract'
import { isApi, isHasura } from '../../containers.ts'
import { isResponding } from './processors.ts'
import type { AlertFacts } from './rule.ts'
import { rules } from './rules.ts'

type Applicability = 'yes' | 'no' | 'unknown'

/**
 * Whether a rule can be checked for a version now. `no`: the rule does not apply to its current state, such as a rule about running
 * programs to a hibernated version. `unknown`: observations are missing.
 */
export function isRuleApplicable(facts: AlertFacts, kind: AlertKind, container: string | null): Applicability {
  const isStopped = facts.status === 'DEPLOYING' || facts.status === 'HIBERNATED'
  const { appliesTo } = rules[kind]
  switch (appliesTo) {
    case 'program':
    case 'processor':
      if (isStopped) return 'no'
      return container === null ? 'yes' : programApplicability(facts, container, appliesTo)
    case 'api':
      return !isStopped && (facts.apiReplicas > 0 || facts.hasuraReplicas > 0) ? 'yes' : 'no'
    case 'database':
      return facts.database === null ? 'no' : facts.database.usedBytes === null ? 'unknown' : 'yes'
    case 'deployment':
      // If the next deployment fails, possibly for another reason, that is another alert.
      return facts.status === 'DEPLOYING' ? 'no' : 'yes'
    default:
      return 'yes'
  }
}

function programApplicability(facts: AlertFacts, container: string, appliesTo: 'program' | 'processor'): Applicability {
  const exists =
    facts.processors.includes(container) ||
    (facts.apiReplicas > 0 && isApi({ name: container })) ||
    (facts.hasuraReplicas > 0 && isHasura({ name: container }))
  if (!exists) return 'no'
  const row = facts.containers.find((one) => one.container === container)
  if (!row || row.state === 'starting') return 'unknown'
  if (appliesTo === 'program' || row.state === 'finished') return 'yes'
  const metrics = facts.processorMetrics.find(({ processor }) => processor === container)
  return isResponding(row, metrics) ? 'yes' : 'unknown'
}
