import type { ApiToken } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { orgTitle } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { seed } from '../../api/seed.ts'
import { confirm } from '../../components/confirm.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { toast } from '../../lib/toasts.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { apiTokensQuery } from './api-tokens.ts'
import { allOrganizationsLabel, scopeLabels } from './token-scopes.ts'

export const prefetch: Prefetch = ({ client }) => void client.prefetchQuery(apiTokensQuery)

const columns: Column<ApiToken>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name }) => (
      <span className="block truncate font-medium" title={name}>
        {name}
      </span>
    ),
  },
  {
    id: 'prefix',
    header: 'Key',
    width: '170px',
    hideBelow: 'md',
    cell: ({ prefix }) => <code className="text-ink-2">{prefix}…</code>,
  },
  {
    id: 'scope',
    header: 'Scope',
    width: '80px',
    cell: ({ scope }) => scopeLabels[scope],
  },
  {
    id: 'organization',
    header: 'Organization',
    hideBelow: 'md',
    cell: ({ organization }) =>
      organization ? (
        <span className="block truncate" title={organization.code}>
          {orgTitle(organization)}
        </span>
      ) : (
        <span className="text-ink-3">{allOrganizationsLabel}</span>
      ),
  },
  {
    id: 'created',
    header: 'Created',
    width: '120px',
    hideBelow: 'sm',
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
  {
    id: 'used',
    header: 'Last used',
    width: '120px',
    hideBelow: 'sm',
    cell: ({ lastUsedAt }) =>
      lastUsedAt ? <RelativeTime at={lastUsedAt} /> : <span className="text-ink-3">never</span>,
  },
  {
    id: 'expires',
    header: 'Expires',
    width: '120px',
    cell: ({ expiresAt }) => (expiresAt ? <RelativeTime at={expiresAt} /> : <span className="text-ink-3">never</span>),
  },
]

/** The list of the user's API tokens (spec 2.12, `/profile/api-tokens`). */
export default function ApiTokensPage() {
  const { data, error, refetch } = useQuery(apiTokensQuery)
  const remove = useApiMutation('user.deleteApiToken', {
    invalidates: ['user.listApiTokens'],
    seeds: (client, removed) =>
      seed(client, 'user.listApiTokens', {}, (tokens) => tokens.filter(({ id }) => id !== removed.id)),
    errorDisplay: 'caller',
    onSuccess: ({ name }) => toast({ tone: 'good', title: `The token ${name} has been deleted` }),
  })
  const confirmDelete = ({ id, name }: ApiToken) =>
    confirm({
      title: `Delete ${name}?`,
      body: 'Programs and command lines that use this token stop working immediately. Your squids keep running.',
      confirmLabel: 'Delete',
      isDanger: true,
      action: () => remove.mutateAsync({ params: { id: String(id) } }),
    })
  const menuOf = (token: ApiToken) => ({
    label: `Actions for ${token.name}`,
    groups: [
      {
        id: 'token',
        actions: [
          {
            id: 'delete',
            label: 'Delete',
            icon: <Trash2 size={16} />,
            isDanger: true,
            onAction: () => confirmDelete(token),
          },
        ],
      },
    ],
  })
  const createLink = (
    <Link to="/profile/api-tokens/create" className={buttonClass('primary')}>
      Create API token
    </Link>
  )
  return (
    <div className="max-w-250">
      <PageHeader
        title="API tokens"
        context="Keys for the command line and for programs. None has more rights than you."
        actions={data?.length === 0 ? undefined : createLink}
      />
      {error && data === undefined ? (
        <ErrorState what="Your API tokens could not be loaded" error={error} onRetry={() => void refetch()} />
      ) : (
        <DataTable
          label="API tokens"
          columns={columns}
          rows={data}
          idOf={({ id }) => String(id)}
          nameOf={({ name }) => name}
          menuOf={menuOf}
          loadingRows={2}
          empty={
            <EmptyState
              title="No API tokens yet"
              text="Use one to deploy squids from the command line."
              action={createLink}
              command="npm i -g @subsquid/cli"
            />
          }
        />
      )}
    </div>
  )
}
