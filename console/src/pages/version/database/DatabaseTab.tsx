import { Link } from '@tanstack/react-router'
import { useOrg } from '../../../api/active-org.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { DiskUse } from '../DiskUse.tsx'
import { useVersion } from '../use-version.ts'
import { ConnectionPanel } from './ConnectionPanel.tsx'
import { databaseAccess } from './database-access.ts'

/** Spec 2.9, `/db`. */
export default function DatabaseTab() {
  const squid = useVersion()
  const org = useOrg()
  const { postgres } = squid.addons
  const access = databaseAccess(org, squid)
  return (
    <div className="flex max-w-200 flex-col gap-4.5">
      {access.isOpen ? (
        <ConnectionPanel connection={access.connection} isReadOnly={postgres !== undefined} />
      ) : (
        <NoDatabaseAccess {...access} />
      )}
      {postgres && (
        <Card title="Database">
          <KeyValue
            rows={[
              { label: 'Size', value: <DiskUse disk={postgres.disk} /> },
              { label: 'Postgres', value: postgres.version },
              { label: 'Profile', value: postgres.profile },
            ]}
          />
        </Card>
      )}
    </div>
  )
}

type Props = { reason: string; remedy: 'billing' | 'newOrganization' | null }

/** Why the user cannot connect, and a link to the remedy. */
function NoDatabaseAccess({ reason, remedy }: Props) {
  return (
    <Alert
      tone={remedy === null ? 'info' : 'warn'}
      title="You cannot connect to this database"
      action={
        remedy === 'billing' ? (
          <Link to="/billing" className={buttonClass()}>
            Open billing
          </Link>
        ) : (
          remedy === 'newOrganization' && (
            <Link to="/organizations/create/{-$code}" className={buttonClass()}>
              Create an organization
            </Link>
          )
        )
      }
    >
      {reason}
    </Alert>
  )
}
