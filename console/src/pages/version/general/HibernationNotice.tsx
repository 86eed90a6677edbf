import type { Squid } from '@shoal/contract'
import { squidDisabledReasons } from '@shoal/contract'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { useApiMutation } from '../../../api/mutation.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { versionChange } from '../../../components/squid/use-squid-actions.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'

/** Shows that the version is hibernated, with a button to restart it (spec 2.9). */
export function HibernationNotice({ squid }: { squid: Squid }) {
  const deniedReason = useDeniedReason('squids.write')
  const restart = useApiMutation('squids.restart', versionChange)
  const params = { code: squid.organization.code, reference: squid.reference }
  return (
    <Alert
      tone="info"
      title="This version is hibernated"
      className="mb-4.5"
      action={
        <Button
          isPending={restart.isPending}
          disabledReason={deniedReason ?? squidDisabledReasons.restart(squid)}
          onClick={() => restart.mutate({ params })}
        >
          Restart
        </Button>
      }
    >
      {squid.hibernatedAt ? (
        <>
          It was hibernated <RelativeTime at={squid.hibernatedAt} />.
        </>
      ) : (
        'It is stopped.'
      )}{' '}
      Its data is kept. Restart it to continue where it left off.
    </Alert>
  )
}
