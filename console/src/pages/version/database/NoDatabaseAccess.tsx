import { Link } from '@tanstack/react-router'
import { Alert } from '../../../ui/Alert.tsx'
import { buttonClass } from '../../../ui/Button.tsx'

type Props = { reason: string; way: 'billing' | 'newOrganization' | null }

/** Why one cannot connect, and the way to where one can. */
export function NoDatabaseAccess({ reason, way }: Props) {
  return (
    <Alert
      tone={way === null ? 'info' : 'warn'}
      title="You cannot connect to this database"
      action={
        way === 'billing' ? (
          <Link to="/billing" className={buttonClass()}>
            Open billing
          </Link>
        ) : (
          way === 'newOrganization' && (
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
