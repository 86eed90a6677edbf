import type { AlertKind } from '@shoal/contract'
import type { AlertFacts } from './findings.ts'
import { isAnswering } from './processor-findings.ts'
import { isApi } from '../../manifest/index.ts'

/** What is said of programs that run: nothing while none should, or while others are put in their place. */
const ofRunning: ReadonlySet<AlertKind> = new Set([
  'CRASH_LOOP',
  'OUT_OF_MEMORY',
  'SOURCE_SILENT',
  'STALLED',
  'LAGGING',
  'WRONG_SYNCED',
  'FROZEN_HEAD',
  'API_DOWN',
  'API_SLOW',
])
const ofProgress: ReadonlySet<AlertKind> = new Set([
  'SOURCE_SILENT',
  'STALLED',
  'LAGGING',
  'WRONG_SYNCED',
  'FROZEN_HEAD',
])

/**
 * Whether it can be said now that a version has or has not this. `no`: the question makes no sense at present. `unknown`: nothing was
 * seen that says so.
 */
export function isRuleApplicable(of: AlertFacts, kind: AlertKind, container: string | null): 'yes' | 'no' | 'unknown' {
  if (ofRunning.has(kind)) {
    if (of.status === 'DEPLOYING' || of.status === 'HIBERNATED') return 'no'
    if (kind === 'API_DOWN' || kind === 'API_SLOW') return of.apiReplicas > 0 ? 'yes' : 'no'
    return container === null ? 'yes' : canTellOfProgram(of, kind, container)
  }
  if (kind === 'LOW_SPACE') return of.database === null ? 'no' : of.database.usedBytes === null ? 'unknown' : 'yes'
  // The next one may fail for another reason: that is another alert.
  return kind === 'DEPLOY_FAILED' && of.status === 'DEPLOYING' ? 'no' : 'yes'
}

function canTellOfProgram(of: AlertFacts, kind: AlertKind, container: string): 'yes' | 'no' | 'unknown' {
  const isPartOfIt = of.processors.includes(container) || (of.apiReplicas > 0 && isApi({ name: container }))
  if (!isPartOfIt) return 'no'
  const row = of.containers.find((one) => one.container === container)
  if (!row || row.state === 'starting') return 'unknown'
  if (!ofProgress.has(kind) || row.state === 'finished') return 'yes'
  const seen = of.seen.find(({ processor }) => processor === container)
  return isAnswering(row, seen) ? 'yes' : 'unknown'
}
