import type { Squid } from '@shoal/contract'
import { isoTime } from '../../../clock.ts'
import { warningsOf, type AlertFacts } from '../../observing/index.ts'
import { willBeGiven } from '../../manifest/index.ts'
import type { PresentedRow } from './present-store.ts'

type Alert = Squid['alerts'][number]

type AlertInput = {
  squid: Pick<PresentedRow, 'secretsReadAtMs' | 'secretNames' | 'manifestCurrent'>
  subject: AlertFacts
  /** When each secret of the organization was last set. */
  secrets: ReadonlyMap<string, Date>
  nowMs: number
}

/** The warnings of a version, the most severe first (spec 4). The alert rules of its organization do not affect them. */
export function alertsOf(of: AlertInput): Alert[] {
  const found = warningsOf(of.subject, of.nowMs)
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
  const changes = [
    { verb: 'Changed', names: changed.map(({ name }) => name) },
    { verb: 'Deleted', names: deleted },
  ].filter(({ names }) => names.length > 0)
  const sentences = changes.map(({ verb, names }) => `${verb} since its programs were started: ${listed(names)}.`)
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
