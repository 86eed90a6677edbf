import type { Session } from '@shoal/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { dropSession } from '../../api/session.ts'
import { confirm } from '../../components/confirm.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { ErrorState } from '../../components/ErrorState.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { emptyValue } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { deviceOf } from './device.ts'

const columns: Column<Session>[] = [
  {
    id: 'device',
    header: 'Device',
    cell: ({ userAgent, isCurrent }) => (
      <span className="flex items-center gap-2">
        <span className="truncate" title={userAgent ?? undefined}>
          {deviceOf(userAgent)}
        </span>
        {isCurrent && <Badge tone="accent">This session</Badge>}
      </span>
    ),
  },
  { id: 'ip', header: 'Address', hideBelow: 'sm', width: '150px', cell: ({ ip }) => ip ?? emptyValue },
  {
    id: 'created',
    header: 'Signed in',
    hideBelow: 'sm',
    width: '120px',
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
  {
    id: 'lastActive',
    header: 'Last active',
    width: '120px',
    cell: ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} />,
  },
]

/** The user's sessions, and a button that ends all of them. */
export default function Sessions() {
  const { data, error, refetch } = useQuery(q('user.listSessions', {}))
  const queryClient = useQueryClient()
  const endSessions = useApiMutation('user.endSessions', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: () => dropSession(queryClient),
  })
  const confirmEnd = () =>
    confirm({
      title: 'Sign out everywhere?',
      body: 'This ends all your sessions, including this one. API tokens keep working.',
      confirmLabel: 'Sign out everywhere',
      isDanger: true,
      action: () => endSessions.mutateAsync({}),
    })
  return (
    <section aria-label="Sessions">
      <header className="mb-2.5 flex items-center gap-3">
        <h2 className="flex-1 text-md font-semibold">Sessions</h2>
        <Button onClick={confirmEnd}>Sign out everywhere</Button>
      </header>
      {error && data === undefined ? (
        <ErrorState what="The sessions could not be loaded" error={error} onRetry={() => void refetch()} />
      ) : (
        <DataTable label="Sessions" columns={columns} rows={data} idOf={({ id }) => id} empty={null} loadingRows={2} />
      )}
    </section>
  )
}
