import { Link } from '@tanstack/react-router'
import { useOrg } from '../../../api/active-org.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { DiskUsage } from '../DiskUsage.tsx'
import { profileLabel } from '../profile-label.ts'
import { useVersion } from '../use-version.ts'
import { ConnectionPanel } from './ConnectionPanel.tsx'
import { databaseAccess } from './database-access.ts'

/** Shows how to connect to the database of a version, its size and its profile (spec 2.9, `/db`). */
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
              { label: 'Size', value: <DiskUsage disk={postgres.disk} /> },
              { label: 'Postgres', value: postgres.version },
              { label: 'Profile', value: profileLabel(postgres.profile) },
            ]}
          />
        </Card>
      )}
    </div>
  )
}

type Props = { reason: string; remedy: 'billing' | 'newOrganization' | null }

/** Explains why the user cannot connect, with a link to the page on which the user can change that. */
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
