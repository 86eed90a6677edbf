import type { Org } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { TextField } from '../../ui/TextField.tsx'

/** A form that changes the name of the organization. */
export function NameForm({ org: { code, name } }: { org: Org }) {
  const rename = useApiMutation('orgs.update', {
    invalidates: ['user.get'],
    seeds: (client, org) => seedOrg(client, code, org),
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'The name has been changed' }),
  })
  return (
    <FormShell
      schema={({ contract }) => contract.orgs.create.body.pick({ name: true })}
      values={{ name: name ?? '' }}
      onSubmit={(body) => rename.mutate({ params: { code }, body })}
      isPending={rename.isPending}
      submitError={rename.error}
      submitLabel="Save"
    >
      {({ field }) => (
        <TextField
          label="Organization name"
          description="Min 3, max 100 symbols."
          autoComplete="off"
          className="max-w-100"
          {...field('name')}
        />
      )}
    </FormShell>
  )
}
