import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { dropSession } from '../../api/session.ts'
import { confirm } from '../../components/confirm.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { sessionColumns } from '../../components/session-columns.tsx'
import { Button } from '../../ui/Button.tsx'

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
        columns={sessionColumns}
        idOf={({ id }) => id}
        empty={null}
        loadingRows={2}
      />
    </section>
  )
}
