import type { RoleType } from '@shoal/contract'
import { useState, type ReactNode } from 'react'
import { useApiMutation } from '../api/mutation.ts'
import { seedRole } from '../api/roles.ts'
import { RadioGroup } from '../ui/RadioGroup.tsx'
import { TextField } from '../ui/TextField.tsx'
import { FormShell } from './FormShell.tsx'
import { roleOptions } from './role-options.ts'

const emptyInvite: { email: string; roleType: RoleType } = { email: '', roleType: 'viewer' }

type Props = {
  /** Code of the organization. */
  code: string
  onInvited?: (email: string) => void
  /** Shown next to the submit button. */
  secondary?: ReactNode
}

/** A form that invites one user by email, and is then reset for the next invitation (spec 5, Invite). */
export function InviteForm({ code, onInvited, secondary }: Props) {
  const [invitedCount, setInvitedCount] = useState(0)
  const invite = useApiMutation('orgs.inviteMember', {
    invalidates: ['orgs.listRoles'],
    seeds: (client, role) => seedRole(client, code, role),
    errorDisplay: 'caller',
    onSuccess: (role) => {
      setInvitedCount((count) => count + 1)
      onInvited?.(role.email)
    },
  })
  return (
    <FormShell
      key={invitedCount}
      schema={({ contract }) => contract.orgs.inviteMember.body.required({ roleType: true })}
      values={emptyInvite}
      onSubmit={(body) => invite.mutate({ params: { code }, body })}
      isPending={invite.isPending}
      submitError={invite.error}
      submitLabel="Invite"
      secondary={secondary}
      warnsAboutUnsavedChanges={false}
    >
      {({ field, form }) => (
        <>
          <TextField label="Email" type="email" autoComplete="off" autoFocus {...field('email')} />
          <RadioGroup
            label="Role"
            options={roleOptions}
            value={form.watch('roleType')}
            onChange={(role) => form.setValue('roleType', role, { shouldDirty: true })}
          />
        </>
      )}
    </FormShell>
  )
}
