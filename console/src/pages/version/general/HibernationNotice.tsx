import type { Squid } from '@shoal/contract'
import { ActionButton } from '../../../components/ActionButton.tsx'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { useVersionActions } from '../../../components/squid/use-version-actions.ts'
import { Alert } from '../../../ui/Alert.tsx'

/** Shows that the version is hibernated, with a button to restart it (spec 2.9). */
export function HibernationNotice({ squid }: { squid: Squid }) {
  const { actionOf, isPending } = useVersionActions()
  return (
    <Alert
      tone="info"
      title="This version is hibernated"
      className="mb-4.5"
      action={<ActionButton action={{ ...actionOf('restart', squid), icon: undefined }} isPending={isPending} />}
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
