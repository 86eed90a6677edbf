import { orgCodeFromName } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { TextField } from '../../ui/TextField.tsx'

/** The first step of creating an organization. The code is derived from the name until the user edits it (spec 5). */
export function SetUpStep() {
  const { email } = useUser()
  const navigate = useNavigate()
  const [isCodeEdited, setIsCodeEdited] = useState(false)
  const create = useApiMutation('orgs.create', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: ({ code }) => navigate({ to: '/organizations/create/{-$code}', params: { code } }),
  })
  return (
    <div className="max-w-140">
      <PageHeader
        title="Set up your organization"
        context="Step 1 of 2 · An organization shares squids, members and billing."
      />
      <FormShell
        schema={({ contract }) => contract.orgs.create.body}
        values={{ name: '', email, code: '' }}
        onSubmit={(body) => create.mutate({ body })}
        isPending={create.isPending}
        submitError={create.error}
        submitLabel="Create organization"
        errorField="code"
        warnsAboutUnsavedChanges={!create.isSuccess}
      >
        {({ field, form }) => {
          const name = field('name')
          const code = field('code')
          return (
            <>
              <TextField
                label="Name"
                description="Min 3, max 100 symbols."
                autoComplete="organization"
                autoFocus
                {...name}
                onChange={(event) => {
                  void name.onChange(event)
                  if (!isCodeEdited)
                    form.setValue('code', orgCodeFromName(event.target.value), suggestionOptions(form.formState))
                }}
              />
              <TextField
                label="Notification email"
                type="email"
                description="Shoal sends this organization's notifications and bills to this address."
                {...field('email')}
              />
              <TextField
                label="Code"
                description="Used in URLs and commands. It cannot be changed later."
                isMono
                autoComplete="off"
                spellCheck={false}
                {...code}
                onChange={(event) => {
                  setIsCodeEdited(event.target.value !== '')
                  void code.onChange(event)
                }}
              />
            </>
          )
        }}
      </FormShell>
    </div>
  )
}

/** Options of `setValue` for a suggested code, which is validated like a typed one: only after the first submit. */
const suggestionOptions = ({ isSubmitted }: { isSubmitted: boolean }) => ({
  shouldDirty: true,
  shouldValidate: isSubmitted,
})
