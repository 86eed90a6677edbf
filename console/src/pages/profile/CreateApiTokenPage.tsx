import { tokenScopes, type TokenScope } from '@shoal/contract'
import { Link, useNavigate } from '@tanstack/react-router'
import { orgTitle } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { NativeSelect } from '../../ui/NativeSelect.tsx'
import { RadioGroup } from '../../ui/RadioGroup.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { StoreKeyDialog } from './StoreKeyDialog.tsx'
import { allOrganizationsLabel, scopeOptions } from './token-scopes.ts'

/** Lets the user create an API token, and shows its key, which users cannot see again later (spec 2.12, `/profile/api-tokens/create`). */
export default function CreateApiTokenPage() {
  const navigate = useNavigate()
  const create = useApiMutation('user.createApiToken', {
    invalidates: ['user.listApiTokens'],
    // Tokens in the list have no key, because it is shown only after the creation.
    seeds: (client, created) => {
      const listed = { ...created, token: '' }
      seed(client, 'user.listApiTokens', {}, (tokens) => [listed, ...tokens])
    },
    errorDisplay: 'caller',
  })
  const { organizations } = useUser()
  const initialValues: Values = { name: '', expiry: 'none', scope: 'deploy', organization: '' }
  const organizationOptions = [
    { id: '', label: allOrganizationsLabel },
    ...organizations.map((org) => ({ id: org.code, label: orgTitle(org) })),
  ]
  return (
    <div className="max-w-140">
      <PageHeader
        title="Create API token"
        context="For the command line, or for a program that acts on your behalf."
        crumbs={<Link to="/profile/api-tokens">API tokens</Link>}
      />
      <FormShell
        schema={({ z, TokenName }) =>
          z.object({
            name: TokenName,
            expiry: z.enum(lifetimes.map(({ value }) => value)),
            scope: z.enum(tokenScopes),
            organization: z.string(),
          })
        }
        values={initialValues}
        onSubmit={({ expiry, organization, ...body }) =>
          create.mutate({ body: { ...body, organization: organization || null, expiresAt: expiresAt(expiry) } })
        }
        isPending={create.isPending}
        submitError={create.error}
        submitLabel="Create"
        errorField="name"
        warnsAboutUnsavedChanges={!create.isSuccess}
        secondary={
          <Link to="/profile/api-tokens" className={buttonClass()}>
            Cancel
          </Link>
        }
      >
        {({ field, form }) => (
          <>
            <TextField
              label="Token name"
              description="What the token is used for, such as my-laptop or ci."
              autoComplete="off"
              autoFocus
              {...field('name')}
            />
            <RadioGroup
              label="Scope"
              options={scopeOptions}
              value={form.watch('scope')}
              onChange={(scope) => form.setValue('scope', scope, { shouldDirty: true })}
            />
            <NativeSelect
              label="Organization"
              description="Where the token works."
              options={organizationOptions}
              {...field('organization')}
            />
            <RadioGroup
              isInline
              label="Expiration"
              options={lifetimes}
              value={form.watch('expiry')}
              onChange={(expiry) => form.setValue('expiry', expiry, { shouldDirty: true })}
            />
          </>
        )}
      </FormShell>
      {create.data && (
        <StoreKeyDialog token={create.data.token} onClose={() => void navigate({ to: '/profile/api-tokens' })} />
      )}
    </div>
  )
}

type Values = {
  name: string
  expiry: Lifetime
  scope: TokenScope
  /** The code of an organization; empty for all organizations. */
  organization: string
}

const dayMs = 86_400_000

/** The lifetimes of a token (spec 5). The default is no expiration. */
const lifetimes = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '60', label: '60 days' },
  { value: '90', label: '90 days' },
  { value: 'none', label: 'No expiration' },
] as const
type Lifetime = (typeof lifetimes)[number]['value']

/** When a token with this lifetime expires, as an ISO time; null if it does not expire. */
function expiresAt(lifetime: Lifetime, nowMs: number = Date.now()): string | null {
  return lifetime === 'none' ? null : new Date(nowMs + Number(lifetime) * dayMs).toISOString()
}
