import { displayStatus, type AlertEvent, type Org, type SquidSummary } from '@shoal/contract'
import { billingWarning } from '../../components/billing-warning.ts'
import { failedDeployOf, failedDeployText } from '../../components/squid/failed-deploy.ts'
import { statusReason } from '../../components/squid/status-reason.ts'
import { shortSyncSummary } from '../../components/squid/sync.ts'
import type { Tone } from '../../ui/tones.ts'

/**
 * A problem or state that needs attention. `squid` is the version that it is about, and `deployId` the deployment that failed; null if
 * there is none.
 */
export type Item = {
  id: string
  tone: Extract<Tone, 'bad' | 'warn' | 'info'>
  label: string
  /** The cause, or the progress of a sync. */
  detail: string | null
  since: string | null
  page: 'billing' | 'alerts' | 'version' | 'deployment'
  squid: Pick<SquidSummary, 'name' | 'slot'> | null
  deployId: number | null
}

const severityOrder = ['bad', 'warn', 'info'] as const

/** The items of an organization, the most severe first. Alerts and versions that are not loaded yet are missing. */
export function attentionOf(
  org: Org,
  alerts: readonly AlertEvent[] = [],
  squids: readonly SquidSummary[] = [],
): Item[] {
  const failedIds = new Set(squids.filter((squid) => failedDeployOf(squid) !== null).map(({ id }) => id))
  // A failed deployment has its own item, which links to its log.
  const otherAlerts = alerts.filter(({ kind, squid }) => kind !== 'DEPLOY_FAILED' || !failedIds.has(squid?.id ?? 0))
  const hasAlert = ({ id }: SquidSummary) => otherAlerts.some(({ squid }) => squid?.id === id)
  const items = [
    ...billingItems(org),
    ...otherAlerts.map(alertItem),
    ...squids.flatMap((squid) => failedDeployItem(squid) ?? []),
    ...squids.flatMap((squid) => (hasAlert(squid) ? [] : (degradedItem(squid) ?? []))),
    ...squids.flatMap((squid) => syncItem(squid) ?? []),
  ]
  return severityOrder.flatMap((tone) => items.filter((item) => item.tone === tone))
}

const emptyFields = { detail: null, since: null, squid: null, deployId: null }

function billingItems(org: Org): Item[] {
  const warning = org.limits.playground ? undefined : billingWarning(org)
  return warning ? [{ ...emptyFields, id: 'billing', tone: warning.tone, label: warning.text, page: 'billing' }] : []
}

const alertItem = ({ id, severity, label, reason, squid, startedAt }: AlertEvent): Item => ({
  id: `alert-${id}`,
  tone: severity === 'CRITICAL' ? 'bad' : 'warn',
  label,
  detail: reason,
  since: startedAt,
  page: squid && !squid.isDeleted ? 'version' : 'alerts',
  squid,
  deployId: null,
})

function failedDeployItem(squid: SquidSummary): Item | null {
  const failedDeploy = failedDeployOf(squid)
  if (failedDeploy === null) return null
  const { id: deployId } = failedDeploy
  const label = failedDeployText(failedDeploy)
  const item = { id: `deployment-${deployId}`, label, page: 'deployment', squid, deployId } as const
  return { ...emptyFields, ...item, tone: 'bad' }
}

/** The item of a version that is degraded. A version is degraded before the alert about the cause opens. */
function degradedItem(squid: SquidSummary): Item | null {
  if (displayStatus(squid) !== 'DEGRADED') return null
  const [cause = null] = statusReason(squid).split('\n')
  return {
    ...emptyFields,
    id: `status-${squid.id}`,
    tone: 'bad',
    label: 'Degraded',
    detail: cause,
    page: 'version',
    squid,
  }
}

function syncItem(squid: SquidSummary): Item | null {
  if (displayStatus(squid) !== 'PROCESSING') return null
  const processors = squid.processors ?? []
  const item = { ...emptyFields, id: `sync-${squid.id}`, page: 'version', squid } as const
  // A processor that crashed or waits has a reason before its status becomes STUCK.
  const blocked = processors.find(({ status, reason }) => status !== 'SYNCED' && reason !== null)
  if (blocked)
    return {
      ...item,
      tone: 'warn',
      label: 'Not indexing',
      detail: `${blocked.name}: ${blocked.reason}`,
      since: blocked.since,
    }
  return { ...item, tone: 'info', label: 'Not synced yet', detail: shortSyncSummary(processors) }
}
