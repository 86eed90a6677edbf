import type { Squid } from '@shoal/contract'
import { squidCan } from '@shoal/contract'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { useApiMutation } from '../../../api/mutation.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { changedByActions } from '../../../components/squid/use-squid-actions.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'

/** Spec 2.9: why nothing runs, and a button to restart. */
export function HibernationNotice({ squid }: { squid: Squid }) {
  const deniedReason = useDeniedReason('squids.write')
  const restart = useApiMutation('squids.restart', { invalidates: changedByActions })
  const params = { code: squid.organization.code, reference: squid.reference }
  return (
    <Alert
      tone="info"
      title="This version is hibernated"
      className="mb-4.5"
      action={
        <Button
          isPending={restart.isPending}
          disabledReason={deniedReason ?? squidCan.restart(squid)}
          onClick={() => restart.mutate({ params })}
        >
          Restart
        </Button>
      }
    >
      {squid.hibernatedAt ? (
        <>
          It was stopped <RelativeTime at={squid.hibernatedAt} />.
        </>
      ) : (
        'It is stopped.'
      )}{' '}
      Its data is kept. Restart it to continue where it stopped.
    </Alert>
  )
}
