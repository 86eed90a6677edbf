import type { IncidentImpact } from '@shoal/contract'
import type { VersionDetails } from '../../observing/index.ts'
import type { PageTag } from './page-data-store.ts'

export type TagStatus = 'operational' | 'degraded' | 'outage' | 'hibernated' | 'unknown'

/**
 * Returns the current status of a tag: from the probes of its apis, or its containers if it has no api, and from its open
 * incidents.
 */
export function statusOfTag(tag: PageTag, details: VersionDetails | null, openImpacts: IncidentImpact[]): TagStatus {
  if (openImpacts.includes('OUTAGE')) return 'outage'
  const observed = observedStatus(tag, details)
  return openImpacts.length > 0 && observed !== 'outage' ? 'degraded' : observed
}

function observedStatus({ desiredState, apiReplicas }: PageTag, details: VersionDetails | null): TagStatus {
  if (desiredState === 'hibernated') return 'hibernated'
  if (!details || desiredState !== 'running') return 'unknown'
  const healthy =
    apiReplicas === 0
      ? details.containers.map(({ state }) => state === 'running' || state === 'finished')
      : details.apis.map(({ isAvailable }) => isAvailable)
  if (healthy.length === 0) return 'unknown'
  if (healthy.every(Boolean)) return 'operational'
  return healthy.some(Boolean) ? 'degraded' : 'outage'
}

/**
 * Returns the status of the page: the worst of its tags and open incidents. It is hibernated only if no other tag has a known
 * status.
 */
export function statusOfPage(tags: TagStatus[], openImpacts: IncidentImpact[]): TagStatus {
  if (openImpacts.includes('OUTAGE') || tags.includes('outage')) return 'outage'
  if (openImpacts.length > 0 || tags.includes('degraded')) return 'degraded'
  if (tags.includes('operational')) return 'operational'
  return tags.includes('hibernated') ? 'hibernated' : 'unknown'
}
