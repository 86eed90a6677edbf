import { Link, Outlet } from '@tanstack/react-router'
import { BellOff } from 'lucide-react'
import { useState } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import { NavTabs, useCurrentTab } from '../../components/NavTabs.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { useDeniedReason } from '../../components/access.tsx'
import { Button } from '../../ui/Button.tsx'
import { MuteDialog } from './MuteDialog.tsx'
import { MutesBar } from './MutesBar.tsx'
import { mutesQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchQuery(mutesQuery(org.code))

const tabs = [
  { to: '/monitoring/alerts', label: 'Open' },
  { to: '/monitoring/alerts/history', label: 'History' },
  { to: '/monitoring/alerts/rules', label: 'Rules' },
  { to: '/monitoring/alerts/channels', label: 'Channels' },
  { to: '/monitoring/alerts/deliveries', label: 'Deliveries' },
] as const

/** Open and ended alerts, rules, channels and deliveries (`/monitoring/alerts`). */
export default function AlertsPage() {
  const [isMuting, setIsMuting] = useState(false)
  return (
    <>
      <PageHeader
        title="Alerts"
        tab={useCurrentTab(tabs)?.label}
        context="Problems with your squids, and who is notified. An alert ends when its cause is resolved."
        crumbs={<Link to="/monitoring">Monitoring</Link>}
        actions={
          <Button
            icon={<BellOff size={14} aria-hidden />}
            disabledReason={useDeniedReason('squids.write')}
            onClick={() => setIsMuting(true)}
          >
            Mute
          </Button>
        }
      />
      <MutesBar />
      <NavTabs label="Alerts" tabs={tabs} />
      <Outlet />
      {isMuting && <MuteDialog subject={{ kind: null, squid: null }} onClose={() => setIsMuting(false)} />}
    </>
  )
}
