import type { SecretUse } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { confirmed } from '../../components/confirm.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { FormShell } from '../../components/FormShell.tsx'
import { RequirePermission } from '../../components/access.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { toast } from '../../lib/toasts.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { TextArea } from '../../ui/TextField.tsx'
import { submitErrorText } from '../../api/error-text.ts'
import { prefetchUses, usesQuery } from './queries.ts'

export const prefetch = prefetchUses

/** Lets the user replace the value of a secret (spec 2.12, `/secrets/edit/{name}`). */
export default function EditSecretPage() {
  const { code } = useOrg()
  const name = useParams({ from: '/app/secrets/edit/$name', select: (params) => params.name.toUpperCase() })
  const secrets = useQuery(usesQuery(code))
  const cancelLink = (
    <Link to="/secrets" className={buttonClass()}>
      Cancel
    </Link>
  )
  return (
    <div className="max-w-140">
      <PageHeader
        title={name}
        tab="Edit value"
        heading="Edit value"
        context={<code>{name}</code>}
        crumbs={<Link to="/secrets">Secrets</Link>}
      />
      <RequirePermission permission="secrets.write" title="You cannot edit secrets" action={cancelLink}>
        <QueryView query={secrets} what="The secret">
          {(all) => {
            const secret = all.find((candidate) => candidate.name === name)
            if (!secret)
              return (
                <EmptyState
                  title="Secret not found"
                  text="It may have been deleted, or belong to another organization."
                  action={
                    <Link to="/secrets" className={buttonClass()}>
                      All secrets
                    </Link>
                  }
                />
              )
            return <ValueForm code={code} secret={secret} cancelLink={cancelLink} />
          }}
        </QueryView>
      </RequirePermission>
    </div>
  )
}

const initialValues = { value: '' }

function ValueForm({ code, secret, cancelLink }: { code: string; secret: SecretUse; cancelLink: ReactNode }) {
  const { name, versions } = secret
  const navigate = useNavigate()
  const update = useApiMutation('secrets.change', {
    invalidates: ['secrets.listUses', 'squids.listSummaries', 'squids.get'],
    errorDisplay: 'caller',
    onSuccess: async () => {
      toast({ tone: 'good', title: `The value of ${name} has been updated` })
      await navigate({ to: '/secrets' })
    },
  })
  const usedBy = versions.map(({ reference }) => reference).join(', ')
  const confirmUpdate = async (value: string) => {
    const isConfirmed = await confirmed({
      title: `Update ${name}?`,
      body:
        usedBy === ''
          ? 'The current value will be lost. No version uses it yet.'
          : `The current value will be lost. A redeploy or restart is needed to apply the new one: ${usedBy}.`,
      confirmLabel: 'Update',
    })
    if (isConfirmed) update.mutate({ params: { code }, body: { secrets: [{ action: 'UPDATE', name, value }] } })
  }
  return (
    <FormShell
      schema={({ z, SecretValue }) => z.object({ value: SecretValue })}
      values={initialValues}
      onSubmit={({ value }) => void confirmUpdate(value)}
      isPending={update.isPending}
      submitError={update.error}
      describeError={submitErrorText}
      submitLabel="Update"
      secondary={cancelLink}
    >
      {({ field }) => (
        <TextArea
          label="New value"
          description="The current value is not shown. Every squid gets the new one at its next restart or deployment."
          autoComplete="off"
          spellCheck={false}
          isMono
          autoFocus
          {...field('value')}
        />
      )}
    </FormShell>
  )
}
