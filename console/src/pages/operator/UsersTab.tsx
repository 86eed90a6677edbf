import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import type { SearchOf } from '../../components/data-table/url-state.ts'
import { OperatorList } from './OperatorList.tsx'
import { usersQuery } from './queries.ts'
import { useUserActions } from './use-user-actions.tsx'
import { userColumns } from './user-columns.tsx'

const route = getRouteApi('/app/admin/users')
const queryOf = ({ search }: SearchOf<typeof route>) => usersQuery(search)

export const prefetch: Prefetch = ({ client, search }) => void client.prefetchInfiniteQuery(queryOf(search))

const empty = { title: 'No users match', text: 'Search for a part of an email or name.' }

/** The list of all users, with the number of their sessions. */
export default function UsersTab() {
  return (
    <OperatorList
      route={route}
      noun="user"
      placeholder="Email or name"
      query={useInfiniteQuery(queryOf(route.useSearch()))}
      columns={userColumns}
      nameOf={({ email }) => email}
      actions={useUserActions()}
      empty={empty}
    />
  )
}
