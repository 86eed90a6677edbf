import { useMatches } from '@tanstack/react-router'
import { NavTabs } from '../../components/NavTabs.tsx'
import type { VersionTab } from './tabs.ts'

/** The current tab; undefined on a page below a tab, such as the page of one deployment. */
export function useCurrentTab(tabs: readonly VersionTab[]): VersionTab | undefined {
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath.replace(/\/$/, '') })
  return tabs.find(({ to }) => to === path)
}

/** The links of the tabs. A disabled tab remains visible and shows the reason. */
export const VersionTabs = ({ tabs }: { tabs: readonly VersionTab[] }) => (
  <NavTabs label="Version" tabs={tabs.map((tab) => ({ ...tab, from: '/squids/$squidName/$squidSlot' }))} />
)
