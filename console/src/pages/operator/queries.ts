import { operatorPageSize, type OperatorOrg, type OperatorSquid, type OperatorUser } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { q, type CallArgument } from '../../api/query.ts'
import { seedPages } from '../../api/seed.ts'
import { qTotalPages, type TotalRows } from '../../api/total-pages.ts'
import type { Sort } from '../../components/data-table/columns.ts'

/** Whether the operator has a password, and until when the entered one is valid. */
export const accessQuery = q('operators.getAccess', {})

/** The lists are polled every 30 seconds, because the server does not compute usage more often. */
const paging = { pageSize: operatorPageSize, refetchInterval: 30_000 }

type ListQuery<N extends 'operators.listOrgs' | 'operators.listSquids'> = NonNullable<CallArgument<N>['query']>
type OrgsQuery = ListQuery<'operators.listOrgs'>
type SquidsQuery = ListQuery<'operators.listSquids'>

/** The search text and the order in the URL. */
type Filters<C extends string | undefined> = Sort<NonNullable<C>> & { search: string | undefined }

const searchOf = (search: string | undefined) => (search ? { search } : {})

/** The organizations that match the search and have this state, in this order. */
export const orgsQuery = ({
  search,
  column,
  order,
  state,
}: Filters<OrgsQuery['sort']> & { state: OrgsQuery['state'] }) =>
  qTotalPages<'operators.listOrgs', OperatorOrg>(
    'operators.listOrgs',
    { query: { ...searchOf(search), ...(state && { state }), sort: column, order } },
    { rowsOf: ({ orgs }) => orgs, ...paging },
  )

/** The versions that match the search, in this order. */
export const operatorSquidsQuery = ({ search, column, order }: Filters<SquidsQuery['sort']>) =>
  qTotalPages<'operators.listSquids', OperatorSquid>(
    'operators.listSquids',
    { query: { ...searchOf(search), sort: column, order } },
    { rowsOf: ({ squids }) => squids, ...paging },
  )

/**
 * The sessions of a user. Each request is in the audit log, so the console sends one when the list opens and after a change, and not when
 * the window gets the focus.
 */
export const sessionsQuery = (id: string) =>
  q('operators.listSessions', { params: { id } }, { staleTime: Number.POSITIVE_INFINITY, gcTime: 0 })

/** The users that match the search, the newest first. */
export const usersQuery = (search: string | undefined) =>
  qTotalPages<'operators.listUsers', OperatorUser>(
    'operators.listUsers',
    { query: searchOf(search) },
    { rowsOf: ({ users }) => users, ...paging },
  )

type OperatorListName = 'operators.listOrgs' | 'operators.listSquids' | 'operators.listUsers'

/** Changes a row of all cached lists of an endpoint. */
export function seedRow<R>(
  client: QueryClient,
  name: OperatorListName,
  isRow: (row: R) => boolean,
  changes: Partial<R>,
): void {
  seedPages<TotalRows<R>>(client, name, {}, ({ rows, total }) => ({
    rows: rows.map((row) => (isRow(row) ? { ...row, ...changes } : row)),
    total,
  }))
}
