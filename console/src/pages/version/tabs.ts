import { isHibernated, type Squid } from '@shoal/contract'

const page = '/squids/$squidName/$squidSlot'
type Subpage = 'details' | 'processors' | 'logs' | 'metrics' | 'deployments' | 'db' | 'manifest' | 'package'

export type VersionTab = {
  label: string
  to: typeof page | `${typeof page}/${Subpage}`
  /** Why the tab is disabled; null if it is enabled. */
  disabledReason: string | null
  isHiddenWhenNarrow?: boolean
}

const hibernatedReason = 'The version is hibernated. Restart it first.'
const neverDeployedReason = 'The version has never been deployed successfully.'

/** The tabs of a version, each with the reason if it is disabled (spec 2.9). */
export function versionTabs(squid: Pick<Squid, 'status' | 'addons' | 'image'>): VersionTab[] {
  const hibernatedDisabledReason = isHibernated(squid) ? hibernatedReason : null
  const tabs: VersionTab[] = [
    { label: 'General', to: page, disabledReason: null },
    { label: 'Details', to: `${page}/details`, disabledReason: hibernatedDisabledReason },
    { label: 'Processors', to: `${page}/processors`, disabledReason: hibernatedDisabledReason },
    {
      label: 'Logs',
      to: `${page}/logs`,
      disabledReason: hibernatedDisabledReason,
      isHiddenWhenNarrow: true,
    },
    { label: 'Metrics', to: `${page}/metrics`, disabledReason: hibernatedDisabledReason },
    { label: 'Deployments', to: `${page}/deployments`, disabledReason: null },
  ]
  const { postgres, neon } = squid.addons
  if (postgres || neon) tabs.push({ label: 'DB access', to: `${page}/db`, disabledReason: hibernatedDisabledReason })
  const filesDisabledReason = squid.image === null ? neverDeployedReason : null
  tabs.push(
    { label: 'Manifest', to: `${page}/manifest`, disabledReason: filesDisabledReason },
    { label: 'Package.json', to: `${page}/package`, disabledReason: filesDisabledReason },
  )
  return tabs
}
