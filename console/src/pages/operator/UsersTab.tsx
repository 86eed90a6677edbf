import type { OperatorUser } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { useSearchText } from '../../components/data-table/url-state.ts'
import { formatInteger } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { usersQuery } from './queries.ts'
import { useUserActions } from './use-user-actions.tsx'

const searchIn = ({ search }: Record<string, unknown>) => (typeof search === 'string' ? search : '')

export const prefetch: Prefetch = ({ client, search }) =>
  void client.prefetchInfiniteQuery(usersQuery(searchIn(search)))

const columns: Column<OperatorUser>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ email, fullName, emailVerified, isOperator, disabledAt }) => (
      <div className="py-2">
        <p className="truncate font-medium" title={email}>
          {email}
        </p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-3">
          <span className="max-w-full truncate">{fullName}</span>
          {disabledAt !== null && <Badge tone="bad">Disabled</Badge>}
          {!emailVerified && <Badge tone="warn">Email not confirmed</Badge>}
          {isOperator && <Badge tone="accent">Operator</Badge>}
        </p>
      </div>
    ),
  },
  numberColumn('Sessions', ({ sessions }) => formatInteger(sessions), { width: '96px', narrowWidth: '84px' }),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, { hideBelow: 'sm' }),
  timeColumn('Signed up', ({ createdAt }) => createdAt, { hideBelow: 'md' }),
]

const empty = { title: 'No users match', text: 'Search for a part of an email or name.' }

/** All users, with their sessions. */
export default function UsersTab() {
  const search = useSearchText('search')
  const { data, ...query } = useInfiniteQuery(usersQuery(searchIn(useSearch({ from: '/app/admin/users' }))))
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <SearchField
          label="Find user"
          placeholder="Email or name"
          value={search.text}
          onChange={search.setText}
          className="max-sm:w-full"
        />
        {data && <p className="text-ink-3">{data.total === 1 ? '1 user' : `${formatInteger(data.total)} users`}</p>}
      </div>
      <QueryTable
        label="Users"
        query={{ ...query, data: data?.rows }}
        columns={columns}
        idOf={({ id }) => String(id)}
        nameOf={({ email }) => email}
        actions={useUserActions()}
        empty={empty}
        moreLabel="Show more"
      />
    </>
  )
}
