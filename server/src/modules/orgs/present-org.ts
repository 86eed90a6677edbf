import type { Org, RoleType } from '@shoal/contract'
import type { OrgRow } from './store.ts'

/** An organization as seen by a member with `roleType`. */
export function presentOrg(org: OrgRow, roleType: RoleType): Org {
  return {
    id: org.id,
    code: org.code,
    name: org.name,
    email: { email: org.email, pendingEmail: org.pendingEmail },
    status: org.status,
    roleType,
    limits: { squids: org.squidsLimit, playground: org.isPlayground },
    billingDetails: org.billingDetails,
  }
}
