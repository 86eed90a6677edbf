import type { Maintenance } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { seedUser } from '../../api/seed-session.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { MaintenanceBanner } from '../../components/MaintenanceBanner.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { fromLocalInput, toLocalInput } from './local-time.ts'

const hourMs = 3_600_000

/** The times of the announcement, or the next full hour if there is none. */
function initialTimes(announced: Maintenance | null) {
  if (announced) return { startsAt: new Date(announced.startsAt), endsAt: new Date(announced.endsAt) }
  const startMs = Math.ceil(Date.now() / hourMs) * hourMs
  return { startsAt: new Date(startMs), endsAt: new Date(startMs + hourMs) }
}

type Props = { announced: Maintenance | null; onClose: () => void }

/** Lets the operator announce maintenance or change the announcement, with a preview of the banner. */
export function MaintenanceDialog({ announced, onClose }: Props) {
  const user = useUser()
  const announce = useApiMutation('operators.announceMaintenance', {
    invalidates: ['user.get'],
    seeds: (client, maintenance) => seedUser(client, { ...user, maintenance }),
    errorDisplay: 'caller',
    onSuccess: () => {
      toast({ tone: 'good', title: 'The maintenance is announced' })
      onClose()
    },
  })
  const { startsAt, endsAt } = initialTimes(announced)
  return (
    <LazyDialog title={announced ? 'Change the maintenance' : 'Announce maintenance'} isOpen onClose={onClose}>
      <FormShell
        schema={({ contract, z }) =>
          z.object({
            message: contract.operators.announceMaintenance.body.shape.message,
            startsAt: z.string(),
            endsAt: z.string(),
            hasScreen: z.boolean(),
          })
        }
        values={{
          message: announced?.message ?? '',
          startsAt: toLocalInput(startsAt),
          endsAt: toLocalInput(endsAt),
          hasScreen: announced?.hasScreen ?? false,
        }}
        onSubmit={({ message, hasScreen, ...times }) =>
          announce.mutate({
            body: {
              message,
              hasScreen,
              startsAt: fromLocalInput(times.startsAt) ?? '',
              endsAt: fromLocalInput(times.endsAt) ?? '',
            },
          })
        }
        isPending={announce.isPending}
        submitError={announce.error}
        submitLabel="Announce"
        disabledReasonOf={problemOf}
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field, form }) => {
          const { message, ...times } = form.watch()
          const preview = { startsAt: fromLocalInput(times.startsAt), endsAt: fromLocalInput(times.endsAt) }
          return (
            <>
              <TextField label="Message" autoComplete="off" {...field('message')} />
              <div className="grid gap-4 sm:grid-cols-2">
                <TextField label="Start" type="datetime-local" {...field('startsAt')} />
                <TextField label="End" type="datetime-local" {...field('endsAt')} />
              </div>
              <Checkbox {...form.register('hasScreen')}>
                Show the maintenance screen instead of the console from start to end. Operators can still use the
                console.
              </Checkbox>
              <div>
                <p className="mb-1.5 text-sm text-ink-2">All users will see, in their own time zone:</p>
                {preview.startsAt !== null && preview.endsAt !== null && (
                  <MaintenanceBanner message={message || '…'} startsAt={preview.startsAt} endsAt={preview.endsAt} />
                )}
              </div>
            </>
          )
        }}
      </FormShell>
    </LazyDialog>
  )
}

/** Returns why these times cannot be announced; null if they can. */
function problemOf(values: { startsAt: string; endsAt: string }): string | null {
  const [start, end] = [fromLocalInput(values.startsAt), fromLocalInput(values.endsAt)]
  if (start === null || end === null) return 'Enter both times'
  if (start >= end) return 'The end must be after the start'
  return Date.parse(end) <= Date.now() ? 'The end must be in the future' : null
}
