import { Link } from '@tanstack/react-router'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { useVersionParams } from './use-version.ts'

/** The address names a version that the organization does not have (spec 2.2). */
export function VersionNotFound() {
  const { reference } = useVersionParams()
  const org = useOrg()
  return (
    <>
      <PageHeader title={reference} crumbs={<Link to="/squids">Squids</Link>} />
      <EmptyState
        title="Version not found"
        text={`${orgTitle(org)} has no ${reference}. It may have been deleted, or belong to another of your organizations.`}
        action={
          <Link to="/squids" className={buttonClass()}>
            All squids
          </Link>
        }
      />
    </>
  )
}
