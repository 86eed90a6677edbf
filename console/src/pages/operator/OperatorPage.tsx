import { Outlet } from '@tanstack/react-router'
import { NavTabs, useCurrentTab } from '../../components/NavTabs.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'

const tabs = [
  { to: '/admin', label: 'Overview' },
  { to: '/admin/deployments', label: 'Deployments' },
  { to: '/admin/organizations', label: 'Organizations' },
  { to: '/admin/squids', label: 'Squids' },
  { to: '/admin/users', label: 'Users' },
] as const

/** The operator's console (`/admin`). */
export default function OperatorPage() {
  return (
    <>
      <PageHeader
        title="Operator's console"
        tab={useCurrentTab(tabs)?.label}
        context="All organizations of this installation. What you change here is recorded in the audit log."
      />
      <NavTabs label="Operator's console" tabs={tabs} />
      <Outlet />
    </>
  )
}
