import type { AlertKind, Squid } from '@shoal/contract'
import { findingsOf, usualLimits, type Watched } from './findings.ts'
import { isoTime } from './present-processor.ts'
import type { PresentedRow } from './present-store.ts'

type Alert = Squid['alerts'][number]

type Alarming = {
  squid: Pick<PresentedRow, 'secretsReadAtMs' | 'secretNames'>
  watched: Watched
  /** Of the organization: when each was last set. */
  secrets: ReadonlyMap<string, Date>
  nowMs: number
}

/** The others take time to be sure of, or stand elsewhere in the version. */
const shownKinds: ReadonlySet<AlertKind> = new Set([
  'LOW_SPACE',
  'CRASH_LOOP',
  'OUT_OF_MEMORY',
  'STALLED',
  'WRONG_SYNCED',
  'FROZEN_HEAD',
  'DEPLOY_FAILED',
])

/** What people should know about a version, the worst first (spec 4). Rules of its organization change nothing of it. */
export function alertsOf(of: Alarming): Alert[] {
  const found = findingsOf(of.watched, usualLimits, of.nowMs).filter((one) => one.isClear && shownKinds.has(one.kind))
  const alerts = [
    ...found.map(({ label, severity, reason, sinceMs }) => ({
      label,
      severity,
      reason,
      since: sinceMs === null ? null : isoTime(sinceMs),
    })),
    ...(of.watched.status === 'HIBERNATED' ? [] : secretsAlerts(of)),
  ]
  return alerts.sort((a, b) => Number(a.severity === 'WARNING') - Number(b.severity === 'WARNING'))
}

function secretsAlerts({ squid: { secretsReadAtMs, secretNames }, secrets }: Alarming): Alert[] {
  if (secretsReadAtMs === null) return []
  const changes = secretNames.map((name) => ({ name, atMs: secrets.get(name)?.getTime() ?? 0 }))
  const since = changes.filter(({ atMs }) => atMs > secretsReadAtMs)
  if (since.length === 0) return []
  return [
    {
      label: 'Secrets are outdated',
      severity: 'WARNING',
      reason: `Changed since its programs were started: ${since.map(({ name }) => name).join(', ')}. Restart it to apply them.`,
      since: isoTime(Math.max(...since.map(({ atMs }) => atMs))),
    },
  ]
}
