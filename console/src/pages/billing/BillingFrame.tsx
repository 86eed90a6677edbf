import type { ReactNode } from 'react'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { NavTabs } from '../../components/NavTabs.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { TeamOnly } from '../../components/access.tsx'
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
    <>
      <PageHeader title={title} context={orgTitle(useOrg())} actions={actions} />
      <NavTabs label="Billing" tabs={pages} />
      <AccountStatusBanner />
      {children}
    </>
  )
}
