import { Link, Outlet } from '@tanstack/react-router'
import { PageHeader } from '../../components/PageHeader.tsx'
import { cx } from '../../ui/classes.ts'
import { tabClass, tabListClass } from '../../ui/control-classes.ts'

const tabs = [
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
        context="All organizations of this installation. What you change here is recorded in the audit log."
      />
      <nav aria-label="Operator's console" className={cx(tabListClass, 'mb-4.5')}>
        {tabs.map(({ to, label }) => (
          <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }} className={tabClass}>
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  )
}
