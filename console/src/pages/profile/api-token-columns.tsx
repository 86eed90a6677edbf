import type { ApiToken } from '@shoal/contract'
import { orgTitle } from '../../api/active-org.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { codeColumn, nameColumn, textColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { allOrganizationsLabel, scopeLabels } from './token-scopes.ts'

/** The columns of the list of API tokens. */
export const apiTokenColumns: Column<ApiToken>[] = [
  nameColumn('Name', ({ name }) => name),
  codeColumn('Key', ({ prefix }) => `${prefix}…`, { width: '130px', hideBelow: 'lg' }),
  textColumn('Scope', ({ scope }) => scopeLabels[scope], { width: '80px' }),
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
  timeColumn('Created', ({ createdAt }) => createdAt, { hideBelow: 'lg' }),
  timeColumn('Last used', ({ lastUsedAt }) => lastUsedAt, { none: 'never', hideBelow: 'sm' }),
  timeColumn('Expires', ({ expiresAt }) => expiresAt, { none: 'never' }),
]
