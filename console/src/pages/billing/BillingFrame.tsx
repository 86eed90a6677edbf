import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { TeamOnly } from '../../components/access.tsx'
import { cx } from '../../ui/classes.ts'
import { tabClass, tabListClass } from '../../ui/control-classes.ts'
import { AccountStatusBanner } from './AccountStatusBanner.tsx'

type Props = { title: string; actions?: ReactNode; children: ReactNode }

const pages = [
  { to: '/billing', label: 'General' },
  { to: '/billing/usage', label: 'Usage' },
  { to: '/billing/limits', label: 'Limits' },
] as const

/** The layout of the three billing pages (spec 2.5). Redirects if the organization is a playground. */
export function BillingFrame(props: Props) {
  return (
    <TeamOnly>
      <FrameContent {...props} />
    </TeamOnly>
  )
}

function FrameContent({ title, actions, children }: Props) {
  return (
    <div className="max-w-250">
      <PageHeader title={title} context={orgTitle(useOrg())} actions={actions} />
      <nav aria-label="Billing" className={cx(tabListClass, 'mb-4.5')}>
        {pages.map(({ to, label }) => (
          <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }} className={tabClass}>
            {label}
          </Link>
        ))}
      </nav>
      <AccountStatusBanner />
      {children}
    </div>
  )
}
