import { operatorPageSize, type OperatorOrg, type OperatorSquid, type OperatorUser } from '@shoal/contract'
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import { callApi, q, type CallArgument } from '../../api/query.ts'

/** Use changes with every sample; the server computes it at most every 30 seconds. */
const pollMs = 30_000

export const accessQuery = q('operators.getAccess', {})

type List<N extends 'operators.listOrgs' | 'operators.listSquids'> = NonNullable<CallArgument<N>['query']>
export type OrgsQuery = Omit<List<'operators.listOrgs'>, 'offset'>
export type SquidsQuery = Omit<List<'operators.listSquids'>, 'offset'>

/** The offset of the next page; undefined after the last one. */
const nextOffset = (loaded: number, total: number) => (loaded < total ? loaded : undefined)

const timing = { refetchInterval: pollMs, placeholderData: keepPreviousData, initialPageParam: 0 }

/** Organizations in the order of the query, with their total number. */
export const orgsQuery = (query: OrgsQuery) =>
  infiniteQueryOptions({
    queryKey: ['operators.listOrgs', query],
    queryFn: ({ pageParam, signal }) =>
      callApi('operators.listOrgs', { query: { ...query, offset: String(pageParam) } }, signal),
    getNextPageParam: ({ total }, pages) => nextOffset(pages.length * operatorPageSize, total),
    select: ({ pages }): { rows: OperatorOrg[]; total: number } => ({
      rows: unique(pages.flatMap(({ orgs }) => orgs)),
      total: pages[0]?.total ?? 0,
    }),
    ...timing,
  })

/** Versions in the order of the query, with their total number. */
export const operatorSquidsQuery = (query: SquidsQuery) =>
  infiniteQueryOptions({
    queryKey: ['operators.listSquids', query],
    queryFn: ({ pageParam, signal }) =>
      callApi('operators.listSquids', { query: { ...query, offset: String(pageParam) } }, signal),
    getNextPageParam: ({ total }, pages) => nextOffset(pages.length * operatorPageSize, total),
    select: ({ pages }): { rows: OperatorSquid[]; total: number } => ({
      rows: unique(pages.flatMap(({ squids }) => squids)),
      total: pages[0]?.total ?? 0,
    }),
    ...timing,
  })

/** Users, the newest first, with their total number. */
export const usersQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['operators.listUsers', search],
    queryFn: ({ pageParam, signal }) =>
      callApi('operators.listUsers', { query: { ...(search && { search }), offset: String(pageParam) } }, signal),
    getNextPageParam: ({ total }, pages) => nextOffset(pages.length * operatorPageSize, total),
    select: ({ pages }): { rows: OperatorUser[]; total: number } => ({
      rows: unique(pages.flatMap(({ users }) => users)),
      total: pages[0]?.total ?? 0,
    }),
    ...timing,
  })

/** A row may be on two pages, if the order changed between their requests. */
const unique = <T extends { id: number }>(rows: T[]): T[] => [...new Map(rows.map((row) => [row.id, row])).values()]
