import { Link, useNavigate } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { RadioGroup } from '../../ui/RadioGroup.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { StoreKeyDialog } from './StoreKeyDialog.tsx'

/** Spec 2.12, `/profile/api-tokens/create`. */
export default function CreateApiTokenPage() {
  const navigate = useNavigate()
  const create = useApiMutation('user.createApiToken', {
    invalidates: ['user.listApiTokens'],
    errorDisplay: 'caller',
  })
  const initial: { name: string; expiry: Lifetime } = { name: '', expiry: 'none' }
  return (
    <div className="max-w-140">
      <PageHeader
        title="Create API token"
        context="For the command line, or for a program that acts on your behalf."
        crumbs={<Link to="/profile/api-tokens">API tokens</Link>}
      />
      <FormShell
        schema={({ z, TokenName }) =>
          z.object({ name: TokenName, expiry: z.enum(lifetimes.map(({ value }) => value)) })
        }
        values={initial}
        onSubmit={({ name, expiry }) => create.mutate({ body: { name, expiresAt: expiresAt(expiry) } })}
        pending={create.isPending}
        submitError={create.error}
        submitLabel="Create"
        errorField="name"
        isGuarded={!create.isSuccess}
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
              description="What it is used for: my-laptop, ci."
              autoComplete="off"
              {...field('name')}
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

const dayMs = 86_400_000

/** Spec 5: lifetimes of a token; no expiration is the default. */
const lifetimes = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '60', label: '60 days' },
  { value: '90', label: '90 days' },
  { value: 'none', label: 'No expiration' },
] as const
type Lifetime = (typeof lifetimes)[number]['value']

/** An ISO time, or null for a token that does not expire. */
function expiresAt(lifetime: Lifetime, nowMs: number = Date.now()): string | null {
  return lifetime === 'none' ? null : new Date(nowMs + Number(lifetime) * dayMs).toISOString()
}
