import type { SecretUse } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { RequirePermission } from '../../components/access.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { toast } from '../../lib/toasts.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { TextArea, TextField } from '../../ui/TextField.tsx'
import { submitErrorText } from '../../api/error-text.ts'
import { prefetchUses, usesQuery } from './queries.ts'

export const prefetch = prefetchUses

const initialValues = { name: '', value: '' }

/** Adds the secrets with new names to the cached list, sorted by name. The refetch adds the versions that use them. */
const withAdded = (uses: readonly SecretUse[], names: readonly string[]): SecretUse[] => {
  const added = names.filter((name) => uses.every((use) => use.name !== name))
  const updatedAt = new Date().toISOString()
  return [...uses, ...added.map((name) => ({ name, updatedAt, versions: [] }))].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

/** Lets the user add a secret (spec 2.12, `/secrets/add`). */
export default function AddSecretPage() {
  const { code } = useOrg()
  const navigate = useNavigate()
  const { data: existing = [] } = useQuery(usesQuery(code))
  const add = useApiMutation('secrets.change', {
    invalidates: ['secrets.listUses'],
    seeds: (client, { secrets }) =>
      seed(client, 'secrets.listUses', { params: { code } }, (uses) => withAdded(uses, Object.keys(secrets))),
    errorDisplay: 'caller',
    onSuccess: async () => {
      toast({ tone: 'good', title: 'The secret has been added' })
      await navigate({ to: '/secrets' })
    },
  })
  const cancelLink = (
    <Link to="/secrets" className={buttonClass()}>
      Cancel
    </Link>
  )
  return (
    <div className="max-w-140">
      <PageHeader
        title="New secret"
        context="Its value is never shown again, so keep a copy elsewhere."
        crumbs={<Link to="/secrets">Secrets</Link>}
      />
      <RequirePermission permission="secrets.write" title="You cannot add secrets" action={cancelLink}>
        <FormShell
          schema={({ z, SecretName, SecretValue }) =>
            z.object({
              name: SecretName.refine((name) => !existing.some((secret) => secret.name === name), {
                error: 'A secret with this name exists. Edit its value instead.',
              }),
              value: SecretValue,
            })
          }
          values={initialValues}
          onSubmit={({ name, value }) =>
            add.mutate({ params: { code }, body: { secrets: [{ action: 'UPDATE', name, value }] } })
          }
          isPending={add.isPending}
          submitError={add.error}
          describeError={submitErrorText}
          submitLabel="Add"
          secondary={cancelLink}
        >
          {({ field, form }) => {
            const name = field('name')
            return (
              <>
                <TextField
                  label="Name"
                  description="Every squid gets an environment variable with this name at its next start, unless its manifest sets one."
                  autoComplete="off"
                  spellCheck={false}
                  isMono
                  autoFocus
                  {...name}
                  onChange={(event) => {
                    const { selectionStart } = event.target
                    event.target.value = event.target.value.toUpperCase()
                    event.target.setSelectionRange(selectionStart, selectionStart)
                    form.clearErrors('name')
                    return name.onChange(event)
                  }}
                />
                <TextArea label="Value" autoComplete="off" spellCheck={false} isMono {...field('value')} />
              </>
            )
          }}
        </FormShell>
      </RequirePermission>
    </div>
  )
}
