import { whyNot, type Membership, type Org, type Permission } from '@shoal/contract'
import type { ReactNode } from 'react'
import { useOrg } from '../api/active-org.ts'

export const membershipOf = (org: Org): Membership => ({ roleType: org.roleType, isPlayground: org.limits.playground })

/** Null when the user may, in the active organization; otherwise the sentence to show (spec 6). */
export function useWhyNot(permission: Permission): string | null {
  return whyNot(membershipOf(useOrg()), permission)
}

/** Its children only for who may; `otherwise` for the others. */
export function Can({
  permission,
  children,
  otherwise,
}: {
  permission: Permission
  children: ReactNode
  otherwise?: ReactNode
}) {
  return <>{useWhyNot(permission) === null ? children : otherwise}</>
}
