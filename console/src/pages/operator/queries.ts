import { operatorPageSize } from '@shoal/contract'
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import { callApi, q, type CallArgument } from '../../api/query.ts'

/** The server computes usage at most every 30 seconds. */
const pollMs = 30_000

export const accessQuery = q('operators.getAccess', {})

type List<N extends 'operators.listOrgs' | 'operators.listSquids'> = NonNullable<CallArgument<N>['query']>
export type OrgsQuery = Omit<List<'operators.listOrgs'>, 'offset'>
export type SquidsQuery = Omit<List<'operators.listSquids'>, 'offset'>

/** The offset of the next page; undefined after the last one. */
const nextOffset = (loaded: number, total: number) => (loaded < total ? loaded : undefined)

/** A list with pages. Its data is the rows of all loaded pages, and the number of rows on all pages. */
const pagesQuery = <P extends { total: number }, T extends { id: number }>(
  queryKey: readonly unknown[],
  load: (offset: string, signal: AbortSignal) => Promise<P>,
  rowsOf: (page: P) => T[],
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(String(pageParam), signal),
    getNextPageParam: ({ total }, pages) => nextOffset(pages.length * operatorPageSize, total),
    select: ({ pages }) => ({ rows: unique(pages.flatMap(rowsOf)), total: pages[0]?.total ?? 0 }),
    refetchInterval: pollMs,
    placeholderData: keepPreviousData,
    initialPageParam: 0,
  })

/** Organizations in the order of the query. */
export const orgsQuery = (query: OrgsQuery) =>
  pagesQuery(
    ['operators.listOrgs', query],
    (offset, signal) => callApi('operators.listOrgs', { query: { ...query, offset } }, signal),
    ({ orgs }) => orgs,
  )

/** Versions in the order of the query. */
export const operatorSquidsQuery = (query: SquidsQuery) =>
  pagesQuery(
    ['operators.listSquids', query],
    (offset, signal) => callApi('operators.listSquids', { query: { ...query, offset } }, signal),
    ({ squids }) => squids,
  )

/** Users, the newest first. */
export const usersQuery = (search: string) =>
  pagesQuery(
    ['operators.listUsers', search],
    (offset, signal) => callApi('operators.listUsers', { query: { ...(search && { search }), offset } }, signal),
    ({ users }) => users,
  )

/** A row may be on two pages, if the order changed between their requests. */
const unique = <T extends { id: number }>(rows: T[]): T[] => [...new Map(rows.map((row) => [row.id, row])).values()]
