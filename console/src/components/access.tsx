import { reasonDenied, type Membership, type Org, type Permission } from '@shoal/contract'
import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../api/active-org.ts'
import { EmptyState } from './EmptyState.tsx'

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

/** A page that needs a permission; other users see why, and an action. */
export function RequirePermission({ permission, title, action, children }: Props) {
  const reason = useDeniedReason(permission)
  return reason === null ? <>{children}</> : <EmptyState title={title} text={reason} action={action} />
}

/** Redirects from pages that a playground does not have (spec 2.3, 6). */
export function TeamOnly({ children }: { children: ReactNode }) {
  return useOrg().limits.playground ? <Navigate to="/squids" replace /> : <>{children}</>
}
