import type { Session } from '@shoal/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { dropSession } from '../../api/session.ts'
import { confirm } from '../../components/confirm.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { textColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
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
  textColumn('Address', ({ ip }) => ip, { hideBelow: 'sm', width: '150px' }),
  timeColumn('Signed in', ({ createdAt }) => createdAt, { hideBelow: 'sm' }),
  timeColumn('Last active', ({ lastSeenAt }) => lastSeenAt),
]

/** The list of the user's sessions, and a button that ends all of them. */
export default function Sessions() {
  const sessions = useQuery(q('user.listSessions', {}))
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
      <QueryTable
        label="Sessions"
        query={sessions}
        columns={columns}
        idOf={({ id }) => id}
        empty={null}
        loadingRows={2}
      />
    </section>
  )
}
