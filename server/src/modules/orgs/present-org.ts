import type { Org, RoleType } from '@shoal/contract'
import type { OrgRow } from './store.ts'

/** Returns the API representation of an organization for a member with `roleType`. */
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
    suspension: suspensionOf(org),
  }
}

/** Returns when and why the operator has suspended the organization; null if it is not suspended. */
export const suspensionOf = ({
  suspendedAt,
  suspensionReason,
}: Pick<OrgRow, 'suspendedAt' | 'suspensionReason'>): Org['suspension'] =>
  suspendedAt === null ? null : { at: suspendedAt.toISOString(), reason: suspensionReason ?? '' }
