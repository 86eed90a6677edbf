import { expect, test } from 'vitest'
import { nextSort, type Column } from './columns.ts'
import { itemsOf, sorted } from './items.ts'

type Version = { squid: string; slot: string; requests: number }
const version = (squid: string, slot: string, requests: number): Version => ({ squid, slot, requests })
const rows = [
  version('nft', 'v10', 5),
  version('erc20', 'v2', 900),
  version('nft', 'v9', 70),
  version('erc20', 'v1', 70),
]
const columns: Column<Version>[] = [
  { id: 'slot', header: 'Slot', cell: ({ slot }) => slot, sortBy: ({ slot }) => slot },
  { id: 'requests', header: 'Requests', cell: ({ requests }) => requests, sortBy: ({ requests }) => requests },
  { id: 'squid', header: 'Squid', cell: ({ squid }) => squid },
]
const slots = (sort: Parameters<typeof sorted>[2]) => sorted(rows, columns, sort).map(({ slot }) => slot)

test('text is sorted in natural order and numbers by value, and equal rows keep their order', () => {
  expect(slots({ column: 'slot', order: 'asc' })).toEqual(['v1', 'v2', 'v9', 'v10'])
  expect(slots({ column: 'slot', order: 'desc' })).toEqual(['v10', 'v9', 'v2', 'v1'])
  expect(slots({ column: 'requests', order: 'asc' })).toEqual(['v10', 'v9', 'v1', 'v2'])
})

test('without a sort, or with an unknown or unsortable column, the order is unchanged', () => {
  for (const sort of [null, { column: 'size', order: 'asc' } as const, { column: 'squid', order: 'desc' } as const])
    expect(slots(sort)).toEqual(['v10', 'v2', 'v9', 'v1'])
})

test('sorting returns the same row objects', () =>
  expect(sorted(rows, columns, { column: 'slot', order: 'asc' })[0]).toBe(rows[3]))

test('the given groups come first in every sort order', () => {
  const groupsOf = (...first: string[]) =>
    itemsOf(
      rows,
      ({ squid, slot }) => `${squid}@${slot}`,
      ({ squid }) => squid,
      first,
    ).flatMap((item) => (item.kind === 'group' ? [item.name] : []))
  expect(groupsOf()).toEqual(['nft', 'erc20'])
  expect(groupsOf('erc20', 'deleted')).toEqual(['erc20', 'nft'])
  expect(groupsOf('erc20', 'nft')).toEqual(['nft', 'erc20'])
})

test('groups have the order of their first rows', () => {
  const items = itemsOf(
    rows,
    ({ squid, slot }) => `${squid}@${slot}`,
    ({ squid }) => squid,
  )
  expect(items.map(({ id }) => id)).toEqual(['group:nft', 'nft@v10', 'nft@v9', 'group:erc20', 'erc20@v2', 'erc20@v1'])
})

test('a second click on a header reverses the sort', () => {
  const first = nextSort(null, { id: 'slot' })
  expect(first).toEqual({ column: 'slot', order: 'asc' })
  expect(nextSort(first, { id: 'slot' }).order).toBe('desc')
  expect(nextSort(first, { id: 'requests' })).toEqual({ column: 'requests', order: 'asc' })
  expect(nextSort(first, { id: 'cpu', isGreatestFirst: true })).toEqual({ column: 'cpu', order: 'desc' })
})
