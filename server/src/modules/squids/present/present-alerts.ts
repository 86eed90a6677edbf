import type { Squid } from '@shoal/contract'
import { isoTime } from '../../../clock.ts'
import { warningsOf, type AlertFacts } from '../../observing/index.ts'
import { receivesSecretAutomatically } from '../../manifest/index.ts'
import type { PresentedRow } from './present-store.ts'

type Alert = Squid['alerts'][number]

type AlertInput = {
  squid: Pick<PresentedRow, 'secretsReadAtMs' | 'secretNames' | 'manifestCurrent'>
  /** The facts that the alert rules check. */
  subject: AlertFacts
  /** When each secret of the organization was last set. */
  secrets: ReadonlyMap<string, Date>
  nowMs: number
}

/** The warnings of a version, the most severe first (spec 4). The alert rules of its organization do not affect them. */
export function alertsOf(input: AlertInput): Alert[] {
  const warnings = warningsOf(input.subject, input.nowMs)
  const alerts = [
    ...warnings.map(({ kind, label, severity, reason, sinceMs }) => ({
      kind,
      label,
      severity,
      reason,
      since: sinceMs === null ? null : isoTime(sinceMs),
    })),
    ...(input.subject.status === 'HIBERNATED' ? [] : secretsAlerts(input)),
  ]
  return alerts.sort((a, b) => Number(a.severity === 'WARNING') - Number(b.severity === 'WARNING'))
}

function secretsAlerts({ squid, secrets }: AlertInput): Alert[] {
  const { secretsReadAtMs, secretNames, manifestCurrent } = squid
  if (secretsReadAtMs === null) return []
  const changed = [...secrets]
    .filter(([name]) => secretNames.includes(name) || receivesSecretAutomatically(name, manifestCurrent))
    .map(([name, at]) => ({ name, atMs: at.getTime() }))
    .filter(({ atMs }) => atMs > secretsReadAtMs)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const deleted = secretNames.filter((name) => !secrets.has(name))
  if (changed.length === 0 && deleted.length === 0) return []
  const changes = [
    { verb: 'Changed', names: changed.map(({ name }) => name) },
    { verb: 'Deleted', names: deleted },
  ].filter(({ names }) => names.length > 0)
  const sentences = changes.map(({ verb, names }) => `${verb} since its programs were started: ${joinNames(names)}.`)
  return [
    {
      kind: 'SECRETS_OUTDATED',
      label: 'Secrets are outdated',
      severity: 'WARNING',
      reason: `${sentences.join(' ')} Restart it to apply the changes.`,
      since: changed.length > 0 ? isoTime(Math.max(...changed.map(({ atMs }) => atMs))) : null,
    },
  ]
}

const maxNames = 10
const joinNames = (names: string[]) =>
  names.length > maxNames
    ? `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`
    : names.join(', ')
