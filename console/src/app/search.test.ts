import { operatorOrgSorts, operatorSquidSorts } from '@shoal/contract'
import { getRouteApi } from '@tanstack/react-router'
import { expect, test } from 'vitest'
import { useSearchText, useSetSearch, useUrlSort } from '../components/data-table/url-state.ts'
import { orgColumns } from '../pages/operator/org-columns.tsx'
import { squidColumns as operatorSquidColumns } from '../pages/operator/squid-columns.tsx'
import { secretColumns } from '../pages/secrets/secret-columns.tsx'
import { squidColumns } from '../pages/squids/squid-columns.tsx'
import { search } from './search.ts'

type Column = { id: string; sortBy?: unknown }
type Reader = (search: Record<string, unknown>) => { sort?: string | undefined }

test.each<[string, readonly Column[], Reader]>([
  ['squids', squidColumns, search.squids],
  ['secrets', secretColumns, search.secrets],
])('the route of the list of %s accepts each column that can be sorted, and no other', (_, columns, read) => {
  for (const { id, sortBy } of columns) expect([id, read({ sort: id }).sort]).toEqual([id, sortBy ? id : undefined])
})

test.each<[string, readonly Column[], readonly string[]]>([
  ['organizations', orgColumns, operatorOrgSorts],
  ['squids', operatorSquidColumns, operatorSquidSorts],
])("the server sorts the operator's list of %s by each column that can be sorted", (_, columns, sorts) => {
  const sortable = columns.filter(({ sortBy }) => sortBy).map(({ id }) => id)
  expect(sorts).toEqual(expect.arrayContaining(sortable))
})

/** Is never called: the compiler checks the types of these calls. */
export function WrongParameters() {
  const squids = getRouteApi('/app/squids')
  const setSearch = useSetSearch(squids)
  setSearch({ search: 'erc20', status: ['HIBERNATED'] })
  // @ts-expect-error -- the route has no such parameter
  setSearch({ serach: 'erc20' })
  // @ts-expect-error -- the value must be a list, because the parameter may be repeated
  setSearch({ status: 'HIBERNATED' })
  useSearchText(squids, 'search')
  // @ts-expect-error -- the parameter is a list
  useSearchText(squids, 'status')
  useUrlSort(squids, { column: 'deployedAt', order: 'asc' })
  // @ts-expect-error -- the route does not accept this column
  useUrlSort(squids, { column: 'deployed', order: 'asc' })
}
