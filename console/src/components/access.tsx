import { reasonDenied, type Membership, type Org, type Permission } from '@shoal/contract'
import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../api/active-org.ts'
import { EmptyState } from './EmptyState.tsx'

/** The user's rights in an organization. */
export const membershipOf = (org: Org): Membership => ({ roleType: org.roleType, isPlayground: org.limits.playground })

/** Why the user lacks the permission in the active organization; null if they have it (spec 6). */
export function useDeniedReason(permission: Permission): string | null {
  return reasonDenied(membershipOf(useOrg()), permission)
}

/** Renders its children if the user has the permission, and `otherwise` if not. */
export function Can({
  permission,
  children,
  otherwise,
}: {
  permission: Permission
  children: ReactNode
  otherwise?: ReactNode
}) {
  return <>{useDeniedReason(permission) === null ? children : otherwise}</>
}

type Props = { permission: Permission; title: string; action: ReactNode; children: ReactNode }

/** Shows a page to users with the permission; to others, why they may not see it, and an action that they can take. */
export function RequirePermission({ permission, title, action, children }: Props) {
  const reason = useDeniedReason(permission)
  return reason === null ? <>{children}</> : <EmptyState title={title} text={reason} action={action} />
}

/** For pages that a playground does not have: redirects to the squids if the active organization is a playground (spec 2.3, 6). */
export function TeamOnly({ children }: { children: ReactNode }) {
  return useOrg().limits.playground ? <Navigate to="/squids" replace /> : <>{children}</>
}
