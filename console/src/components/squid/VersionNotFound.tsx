import { Link } from '@tanstack/react-router'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { EmptyState } from '../EmptyState.tsx'

/** Shown if the organization has no version with this reference (spec 2.2). */
export function VersionNotFound({ reference }: { reference: string }) {
  return (
    <EmptyState
      title="Version not found"
      text={`${orgTitle(useOrg())} has no ${reference}. It may have been deleted, or belong to another of your organizations.`}
      action={
        <Link to="/squids" className={buttonClass()}>
          All squids
        </Link>
      }
    />
  )
}
