import { NavTabs } from '../../components/NavTabs.tsx'
import type { VersionTab } from './tabs.ts'

/** The links of the tabs. A disabled tab remains visible and shows the reason. */
export const VersionTabs = ({ tabs }: { tabs: readonly VersionTab[] }) => (
  <NavTabs label="Version" tabs={tabs.map((tab) => ({ ...tab, from: '/squids/$squidName/$squidSlot' }))} />
)
