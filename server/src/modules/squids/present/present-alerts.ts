import type { AlertKind, Squid } from '@shoal/contract'
import { isoTime } from '../../../clock.ts'
import { findingsOf, usualLimits, type AlertFacts } from '../../observing/index.ts'
import { willBeGiven } from '../../manifest/index.ts'
import type { PresentedRow } from './present-store.ts'

type Alert = Squid['alerts'][number]

type AlertInput = {
  squid: Pick<PresentedRow, 'secretsReadAtMs' | 'secretNames' | 'manifestCurrent'>
  subject: AlertFacts
  /** Of the organization: when each was last set. */
  secrets: ReadonlyMap<string, Date>
  nowMs: number
}

/** The others take time to be sure of, or stand elsewhere in the version. */
const shownKinds: ReadonlySet<AlertKind> = new Set([
  'LOW_SPACE',
  'CRASH_LOOP',
  'OUT_OF_MEMORY',
  'SOURCE_SILENT',
  'STALLED',
  'WRONG_SYNCED',
  'FROZEN_HEAD',
  'DEPLOY_FAILED',
])

/** What people should know about a version, the worst first (spec 4). Rules of its organization change nothing of it. */
export function alertsOf(of: AlertInput): Alert[] {
  const found = findingsOf(of.subject, usualLimits, of.nowMs).filter((one) => one.isClear && shownKinds.has(one.kind))
  const alerts = [
    ...found.map(({ label, severity, reason, sinceMs }) => ({
      label,
      severity,
      reason,
      since: sinceMs === null ? null : isoTime(sinceMs),
    })),
    ...(of.subject.status === 'HIBERNATED' ? [] : secretsAlerts(of)),
  ]
  return alerts.sort((a, b) => Number(a.severity === 'WARNING') - Number(b.severity === 'WARNING'))
}

function secretsAlerts({ squid, secrets }: AlertInput): Alert[] {
  const { secretsReadAtMs, secretNames, manifestCurrent } = squid
  if (secretsReadAtMs === null) return []
  const changed = [...secrets]
    .filter(([name]) => secretNames.includes(name) || willBeGiven(name, manifestCurrent))
    .map(([name, at]) => ({ name, atMs: at.getTime() }))
    .filter(({ atMs }) => atMs > secretsReadAtMs)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const deleted = secretNames.filter((name) => !secrets.has(name))
  if (changed.length === 0 && deleted.length === 0) return []
  const told = [
    { verb: 'Changed', names: changed.map(({ name }) => name) },
    { verb: 'Deleted', names: deleted },
  ].filter(({ names }) => names.length > 0)
  const sentences = told.map(({ verb, names }) => `${verb} since its programs were started: ${listed(names)}.`)
  return [
    {
      label: 'Secrets are outdated',
      severity: 'WARNING',
      reason: `${sentences.join(' ')} Restart it to apply ${deleted.length > 0 ? 'that' : 'them'}.`,
      since: changed.length > 0 ? isoTime(Math.max(...changed.map(({ atMs }) => atMs))) : null,
    },
  ]
}

const maxListed = 10
const listed = (names: string[]) =>
  names.length > maxListed
    ? `${names.slice(0, maxListed).join(', ')} and ${names.length - maxListed} more`
    : names.join(', ')
