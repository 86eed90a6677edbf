import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { onlyIf, q } from '../../api/query.ts'
import { seed } from '../../api/seed.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { TextField } from '../../ui/TextField.tsx'

const emptyFields = { oldPassword: '', password: '', confirmPassword: '', endApiTokens: true }

/** A form that changes the password. The change ends the user's other sessions and, unless the user opts out, the API tokens. */
export function PasswordForm() {
  const [changeCount, setChangeCount] = useState(0)
  const change = useApiMutation('user.changePassword', {
    invalidates: ['user.listSessions', 'user.listApiTokens'],
    // The change ends all sessions except this one.
    seeds: (client) =>
      seed(client, 'user.listSessions', {}, (sessions) => sessions.filter(({ isCurrent }) => isCurrent)),
    errorDisplay: 'caller',
    onSuccess: ({ ended, providers }) => {
      setChangeCount((count) => count + 1)
      const message = [
        'Other sessions have been signed out.',
        ...(ended.apiTokens.length > 0 ? [`Ended: ${tokenNames(ended.apiTokens)}.`] : []),
        ...(providers.length > 0 ? ['Your sign-in provider still works.'] : []),
      ].join(' ')
      toast({ tone: 'good', title: 'Password has been changed', message })
    },
  })
  // Users without a confirmed email have no tokens.
  const { emailVerified } = useUser()
  const tokens = useQuery(onlyIf(emailVerified, q('user.listApiTokens', {}))).data ?? []
  return (
    <FormShell
      // A new key resets the form after each change.
      key={changeCount}
      schema={({ contract, newPasswordTwice, z }) =>
        newPasswordTwice({
          oldPassword: contract.user.changePassword.body.shape.oldPassword,
          endApiTokens: z.boolean(),
        })
      }
      values={emptyFields}
      onSubmit={({ oldPassword, password, endApiTokens }) =>
        change.mutate({ body: { oldPassword, newPassword: password, endApiTokens } })
      }
      isPending={change.isPending}
      submitError={change.error}
      submitLabel="Change password"
    >
      {({ field }) => (
        <>
          <TextField
            label="Current password"
            type="password"
            autoComplete="current-password"
            className="max-w-100"
            {...field('oldPassword')}
          />
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            description="At least 8 characters"
            className="max-w-100"
            {...field('password')}
          />
          <TextField
            label="Confirm password"
            type="password"
            autoComplete="new-password"
            className="max-w-100"
            {...field('confirmPassword')}
          />
          {tokens.length > 0 && (
            <Checkbox {...field('endApiTokens')}>End my API tokens, too: {tokenNames(tokens)}</Checkbox>
          )}
        </>
      )}
    </FormShell>
  )
}

const maxShownNames = 5

function tokenNames(tokens: readonly { name: string }[]): string {
  const shownNames = tokens.slice(0, maxShownNames).map(({ name }) => name)
  const hiddenCount = tokens.length - shownNames.length
  return hiddenCount > 0 ? `${shownNames.join(', ')} and ${hiddenCount} more` : shownNames.join(', ')
}
