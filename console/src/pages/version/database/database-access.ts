import { isCardAdded, isDeploying, isUnpaid, reasonDenied, type Org, type Squid } from '@shoal/contract'

export type Connection = NonNullable<Squid['addons']['postgres']>['connections'][number]

type Access =
  | { isOpen: true; connection: Connection }
  | { isOpen: false; reason: string; remedy: 'billing' | 'newOrganization' | null }

/** Whether the user can connect to the database, which requires the Pro plan (spec 2.9); if not, the reason and a remedy. */
export function databaseAccess(
  org: Pick<Org, 'status' | 'limits' | 'roleType'>,
  squid: Pick<Squid, 'status' | 'addons' | 'image'>,
): Access {
  if (org.limits.playground)
    return denied('Database access requires the Pro plan, which a playground cannot have.', 'newOrganization')
  if (!isCardAdded(org.status)) return denied('Database access requires the Pro plan.', 'billing')
  if (isUnpaid(org.status)) return denied('Payment is overdue. Please update your card details.', 'billing')
  const reason = reasonDenied({ roleType: org.roleType, isPlayground: false }, 'credentials.read')
  if (reason) return denied(reason)
  const { postgres, neon } = squid.addons
  const connection = (postgres ?? neon)?.connections[0]
  if (connection) return { isOpen: true, connection }
  if (isDeploying(squid) || squid.image === null) return denied('You can connect once the version is running.')
  return denied('The manifest allows no connections: deploy.addons.postgres.external_access.max_connections is 0.')
}

const denied = (reason: string, remedy: 'billing' | 'newOrganization' | null = null): Access => ({
  isOpen: false,
  reason,
  remedy,
})
