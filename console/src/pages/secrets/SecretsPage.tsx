import type { SecretUse } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { confirm } from '../../components/confirm.ts'
import type { Sort } from '../../components/data-table/columns.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { OutdatedNotice } from './OutdatedNotice.tsx'
import { pollWhileOutdated, prefetchUses, usesQuery } from './queries.ts'
import { secretColumns } from './secret-columns.tsx'

export const prefetch = prefetchUses

/** The list of secrets and the versions that use them (spec 2.12, `/secrets`). */
export default function SecretsPage() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('secrets.write')
  const navigate = useNavigate()
  const { data, error, refetch } = useQuery({ ...usesQuery(code), refetchInterval: pollWhileOutdated })
  const [sort, setSort] = useState<Sort>({ column: 'name', order: 'asc' })
  const change = useApiMutation('secrets.change', {
    invalidates: ['secrets.listUses'],
    seeds: (client, { secrets }) =>
      seed(client, 'secrets.listUses', { params: { code } }, (uses) => uses.filter(({ name }) => name in secrets)),
    errorDisplay: 'caller',
  })

  const deleteSecret = async ({ name }: SecretUse) => {
    await change.mutateAsync({ params: { code }, body: { secrets: [{ action: 'DELETE', name }] } })
    toast({ tone: 'good', title: `The secret ${name} has been deleted` })
  }
  const confirmDelete = (secret: SecretUse) =>
    confirm({
      title: `Delete ${secret.name}?`,
      body: <DeleteText secret={secret} />,
      confirmLabel: 'Delete',
      isDanger: true,
      action: () => deleteSecret(secret),
    })
  const menuOf = (secret: SecretUse) => ({
    label: `Actions for ${secret.name}`,
    groups: [
      {
        id: 'secret',
        actions: [
          {
            id: 'edit',
            label: 'Edit value',
            icon: <Pencil size={16} />,
            disabledReason: deniedReason,
            onAction: () => void navigate({ to: '/secrets/edit/$name', params: { name: secret.name } }),
          },
          {
            id: 'delete',
            label: 'Delete',
            icon: <Trash2 size={16} />,
            isDanger: true,
            disabledReason: deniedReason,
            onAction: () => confirmDelete(secret),
          },
        ],
      },
    ],
  })
  return (
    <div className="max-w-250">
      <PageHeader
        title="Secrets"
        context="Environment variables for every squid of the organization. Their values are never shown again."
        actions={data?.length === 0 ? undefined : <AddSecret deniedReason={deniedReason} />}
      />
      {error && data === undefined ? (
        <ErrorState what="The secrets could not be loaded" error={error} onRetry={() => void refetch()} />
      ) : (
        <>
          {data && <OutdatedNotice secrets={data} />}
          <DataTable
            label="Secrets"
            columns={secretColumns}
            rows={data}
            idOf={({ name }) => name}
            hasTallRows
            sort={sort}
            onSort={setSort}
            menuOf={menuOf}
            loadingRows={3}
            empty={
              <EmptyState
                title="No secrets yet"
                text="Keys and URLs that do not belong in an archive. Every squid gets them as environment variables; a manifest can also reference them as ${{ secrets.NAME }}."
                action={<AddSecret deniedReason={deniedReason} />}
                command={`sqd secrets set NAME value -o ${code}`}
              />
            }
          />
        </>
      )}
    </div>
  )
}

function AddSecret({ deniedReason }: { deniedReason: string | null }) {
  if (deniedReason !== null)
    return (
      <Button variant="primary" disabledReason={deniedReason}>
        Add secret
      </Button>
    )
  return (
    <Link to="/secrets/add" className={buttonClass('primary')}>
      Add secret
    </Link>
  )
}

function DeleteText({ secret: { versions } }: { secret: SecretUse }) {
  if (versions.length === 0) return <>No version uses it. Its value cannot be restored.</>
  return (
    <>
      Its value cannot be restored. {versions.map(({ reference }) => reference).join(', ')}{' '}
      {versions.length === 1 ? 'keeps it until its' : 'keep it until their'} next restart. A version that references it
      in its manifest cannot be restarted or deployed without it.
    </>
  )
}
