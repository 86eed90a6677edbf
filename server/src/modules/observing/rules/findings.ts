import { alertRules, type AlertEvent, type AlertKind, type AlertRule, type Squid } from '@shoal/contract'
import { hours, minutes } from '../../../clock.ts'
import { diskUsage } from '../../databases/index.ts'
import { crashReason, isCrashLooping } from '../progress/processor-status.ts'
import type { ObservedApi, ObservedContainer, ObservedDatabase, ObservedProcessor } from '../progress/parts-store.ts'
import { processorFindings } from './processor-findings.ts'
import type { SquidRow } from '../../versions/index.ts'

/** Something is wrong with a version now. What is shown with the version and what people are told of is made of these. */
export type Finding = Pick<AlertEvent, 'kind' | 'severity' | 'container' | 'label' | 'reason'> & {
  /** Null where that was not seen. */
  sinceMs: number | null
  /** It has to be found for this long before anybody is told. */
  holdMs: number
  /** False: nobody is told of it, but who was told before is not told that it is over. */
  isClear: boolean
}

/** From what on a kind is found: its threshold in the unit of `alertRules`, 0 where it has none; null: it is not looked for. */
export type Limits = Record<AlertKind, number | null>

export function limitsOf(rules: readonly AlertRule[]): Limits {
  return Object.fromEntries(
    rules.map(({ kind, isEnabled, threshold }) => [kind, isEnabled ? (threshold ?? 0) : null]),
  ) as Limits
}

export const usualLimits = limitsOf(
  Object.entries(alertRules).map(([kind, { threshold }]) => ({
    kind: kind as AlertKind,
    isEnabled: true,
    threshold: threshold?.initial ?? null,
  })),
)

/** What is known of a version; observations only of the generation that serves. */
export type AlertFacts = {
  status: Squid['status']
  image: string | null
  lastDeploy: SquidRow['lastDeploy']
  apiReplicas: number
  processors: string[]
  database: Pick<ObservedDatabase, 'usedBytes' | 'totalBytes'> | null
  containers: ObservedContainer[]
  seen: ObservedProcessor[]
  apis: ObservedApi[]
}

/** A program that ran out of memory is worth a word for this long. */
const memoryMs = hours(24)
/** Seen twice by a look each 15 seconds: programs that are started or stopped pass through odd states. */
const twiceMs = 10_000

/** All that is wrong with a version (spec 4; docs/alerts.md has the conditions). */
export function findingsOf(of: AlertFacts, limits: Limits, nowMs: number): Finding[] {
  const found: Finding[] = []
  if (limits.LOW_SPACE !== null && of.database) found.push(...spaceFindings(of.database))
  for (const row of of.containers) {
    const isLooping = isCrashLooping(row, nowMs)
    if (limits.CRASH_LOOP !== null && isLooping) found.push(crashLoop(row))
    if (limits.OUT_OF_MEMORY !== null && row.isOutOfMemory && nowMs - row.sinceMs < memoryMs)
      found.push(outOfMemory(row))
    // A crash loop has a word of its own.
    if (!isLooping && of.processors.includes(row.container))
      found.push(...processorFindings(row, seenOf(of.seen, row.container), limits, nowMs))
  }
  if (limits.API_DOWN !== null) found.push(...apiFindings(of))
  if (limits.DEPLOY_FAILED !== null) found.push(...deployFindings(of))
  return found
}

const seenOf = (seen: readonly ObservedProcessor[], name: string) => seen.find(({ processor }) => processor === name)

/** Labels are those of the spec (4). */
function spaceFindings({ usedBytes, totalBytes }: Pick<ObservedDatabase, 'usedBytes' | 'totalBytes'>): Finding[] {
  const usage = diskUsage(usedBytes, totalBytes)
  const isLow = usage === 'WARNING' || usage === 'CRITICAL'
  if (usedBytes === null || !(isLow || usedBytes >= totalBytes * clearLowShare)) return []
  const share = Math.floor((usedBytes / totalBytes) * 100)
  const consequence =
    usedBytes >= totalBytes ? 'It can only be read now.' : 'When it is full, nothing more can be written.'
  return [
    {
      kind: 'LOW_SPACE',
      severity: usage === 'CRITICAL' ? 'CRITICAL' : 'WARNING',
      container: 'db',
      label: 'Low database space',
      reason: `${share} % of the database's room is used. ${consequence} Raise scale.addons.postgres.storage in the manifest and deploy again.`,
      sinceMs: null,
      holdMs: 0,
      isClear: isLow,
    },
  ]
}
/** Vacuum gives and takes some per cent: what was low stays low until there is really more room. */
const clearLowShare = 0.77

function crashLoop(row: ObservedContainer): Finding {
  return {
    kind: 'CRASH_LOOP',
    severity: 'CRITICAL',
    container: row.container,
    label: `${row.container} keeps crashing`,
    reason: crashReason(row),
    sinceMs: row.sinceMs,
    holdMs: twiceMs,
    isClear: true,
  }
}

function outOfMemory({ container, state, sinceMs }: ObservedContainer): Finding {
  return {
    kind: 'OUT_OF_MEMORY',
    severity: state === 'running' ? 'WARNING' : 'CRITICAL',
    container,
    label: `${container} ran out of memory`,
    reason:
      'It used more memory than its profile has. Choose a larger profile under scale in the manifest and deploy again.',
    sinceMs,
    holdMs: 0,
    isClear: true,
  }
}

function apiFindings({ apiReplicas, image, apis }: AlertFacts): Finding[] {
  if (apiReplicas === 0 || image === null || apis.some((row) => row.isAvailable)) return []
  const since = apis.map((row) => row.sinceMs)
  const why = apis.find((row) => row.reason !== null)?.reason ?? 'It does not run.'
  return [
    {
      kind: 'API_DOWN',
      severity: 'CRITICAL',
      container: 'api',
      label: 'API is down',
      reason: `${why} Nobody can query it. Its log may say more.`,
      sinceMs: since.length > 0 ? Math.max(...since) : null,
      holdMs: minutes(1),
      isClear: true,
    },
  ]
}

function deployFindings({ lastDeploy, image, database }: AlertFacts): Finding[] {
  if (!lastDeploy || lastDeploy.running || lastDeploy.failed === 'NO') return []
  const goesOn = lastDeploy.isSwitched ? 'The new code runs all the same.' : 'What ran before goes on.'
  const consequence = image === null ? nothingRuns(database) : goesOn
  return [
    {
      kind: 'DEPLOY_FAILED',
      severity: image === null ? 'CRITICAL' : 'WARNING',
      container: null,
      label: 'Last deploy was finished with an error',
      reason: `Deployment ${lastDeploy.id} failed. ${consequence} Its log under Deployments says why and what to do.`,
      sinceMs: null,
      holdMs: 0,
      isClear: true,
    },
  ]
}

/** A database is made before the programs start, and is billed by its room (docs/billing.md). */
const nothingRuns = (database: AlertFacts['database']) =>
  database === null
    ? 'Nothing runs.'
    : `Nothing runs. Its database is kept, and ${Math.round(database.totalBytes / 2 ** 30)} GB of disk are billed until the version is deleted (a playground pays nothing).`
