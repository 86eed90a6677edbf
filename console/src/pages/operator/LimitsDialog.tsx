import type { OperatorOrg } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { seedRow } from './queries.ts'

/** Lets an operator change how many squids an organization may have. */
export function LimitsDialog({ org, onClose }: { org: OperatorOrg; onClose: () => void }) {
  const { code } = org
  const change = useApiMutation('operators.changeLimits', {
    invalidates: ['operators.listOrgs', 'user.get'],
    seeds: (client, { squids }) =>
      seedRow<OperatorOrg>(client, 'operators.listOrgs', ({ id }) => id === org.id, { squidsLimit: squids }),
    errorDisplay: 'caller',
    onSuccess: ({ squids }) => {
      toast({ tone: 'good', title: `${code} may have ${squids} squids` })
      onClose()
    },
  })
  return (
    <LazyDialog title={`Limits of ${code}`} isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.operators.changeLimits.body}
        values={{ squids: org.squidsLimit }}
        onSubmit={(body) => change.mutate({ params: { code }, body })}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ form }) => (
          <TextField
            label="Squids"
            type="number"
            min={0}
            step={1}
            description={`It has ${org.squids} now. Existing squids stay, even above a lower limit.`}
            autoComplete="off"
            {...form.register('squids', { valueAsNumber: true })}
            error={form.formState.errors.squids?.message}
          />
        )}
      </FormShell>
    </LazyDialog>
  )
}
