import type { Maintenance } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { seedUser } from '../../api/seed-session.ts'
import { useUser } from '../../api/session.ts'
import { confirm } from '../../components/confirm.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { MaintenanceDialog } from './dialogs.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { useWithRecentPassword } from './use-with-recent-password.tsx'

/** Describes the announced maintenance, and lets the operator change it. The banner with the announcement is above this page, as on every page. */
export function MaintenanceCard() {
  const user = useUser()
  const { maintenance } = user
  const withRecentPassword = useWithRecentPassword()
  const withdraw = useApiMutation('operators.withdrawMaintenance', {
    invalidates: ['user.get'],
    seeds: (client) => seedUser(client, { ...user, maintenance: null }),
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'The announcement is withdrawn' }),
  })
  const edit = () =>
    void withRecentPassword(() => openDialog((close) => <MaintenanceDialog announced={maintenance} onClose={close} />))
  const confirmWithdrawal = () =>
    void withRecentPassword(() =>
      confirm({
        title: 'Withdraw the announcement?',
        body: 'All users stop seeing the banner, and the maintenance screen if it is on.',
        confirmLabel: 'Withdraw',
        action: () => withdraw.mutateAsync({}),
      }),
    )
  return (
    <Card title="Maintenance" isPadded>
      <p className="mb-3 text-ink-2">{stateText(maintenance)}</p>
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" onClick={edit}>
          {maintenance ? 'Change' : 'Announce maintenance'}
        </Button>
        {maintenance && <Button onClick={confirmWithdrawal}>Withdraw</Button>}
      </div>
    </Card>
  )
}

function stateText(maintenance: Maintenance | null): string {
  if (!maintenance)
    return 'No maintenance is announced. An announcement shows all users a banner with its time and, if you choose, the maintenance screen instead of the console during that time. Squids keep running.'
  const banner = 'All users see the banner above until the end.'
  return maintenance.hasScreen
    ? `${banner} From start to end, users who are not operators see the maintenance screen when they open the console.`
    : `${banner} The maintenance screen stays off.`
}
