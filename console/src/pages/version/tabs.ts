import { isHibernated, type Squid } from '@shoal/contract'

const page = '/squids/$squidName/$squidSlot'
type Part = 'details' | 'processors' | 'logs' | 'metrics' | 'deployments' | 'db' | 'manifest' | 'package'

export type VersionTab = {
  label: string
  to: typeof page | `${typeof page}/${Part}`
  /** Why the tab is disabled. */
  disabledReason: string | null
  isHiddenWhenNarrow?: boolean
}

const hibernatedReason = 'The version is hibernated. Restart it first.'
const neverDeployedReason = 'The version was never deployed successfully.'

/** Spec 2.9: the tabs of a version, and which of them are disabled. */
export function versionTabs(squid: Pick<Squid, 'status' | 'addons' | 'manifest' | 'packageJson'>): VersionTab[] {
  const whileRunning = isHibernated(squid) ? hibernatedReason : null
  const tabs: VersionTab[] = [
    { label: 'General', to: page, disabledReason: null },
    { label: 'Details', to: `${page}/details`, disabledReason: whileRunning },
    { label: 'Processors', to: `${page}/processors`, disabledReason: whileRunning },
    {
      label: 'Logs',
      to: `${page}/logs`,
      disabledReason: whileRunning,
      isHiddenWhenNarrow: true,
    },
    { label: 'Metrics', to: `${page}/metrics`, disabledReason: whileRunning },
    { label: 'Deployments', to: `${page}/deployments`, disabledReason: null },
  ]
  const { postgres, neon } = squid.addons
  if (postgres || neon) tabs.push({ label: 'DB access', to: `${page}/db`, disabledReason: whileRunning })
  const has = (content: object, text = '') => text !== '' || Object.keys(content).length > 0
  tabs.push(
    {
      label: 'Manifest',
      to: `${page}/manifest`,
      disabledReason: has(squid.manifest.current, squid.manifest.raw) ? null : neverDeployedReason,
    },
    {
      label: 'Package.json',
      to: `${page}/package`,
      disabledReason: has(squid.packageJson) ? null : neverDeployedReason,
    },
  )
  return tabs
}
