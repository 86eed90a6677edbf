import { expect, test } from 'vitest'
import { orgColumns } from './org-columns.tsx'
import { squidColumns } from './squid-columns.tsx'
import { withSortedShown } from './usage-columns.tsx'

/** Ids of the columns that a phone shows. */
const onPhone = (columns: readonly { id: string; hideBelow?: string }[]) =>
  columns.filter(({ hideBelow }) => hideBelow === undefined).map(({ id }) => id)

test('on phones, lists show the number column by which they are sorted', () => {
  expect(onPhone(withSortedShown(squidColumns, 'cpu'))).toEqual(['name', 'cpu'])
  expect(onPhone(withSortedShown(squidColumns, 'logs'))).toEqual(['name', 'logs'])
  expect(onPhone(withSortedShown(squidColumns, 'organization'))).toEqual(['name', 'cpu'])
  expect(onPhone(withSortedShown(orgColumns, 'cost'))).toEqual(['name', 'cost'])
  expect(onPhone(withSortedShown(orgColumns, 'cpu'))).toEqual(['name', 'cpu'])
  expect(onPhone(withSortedShown(orgColumns, 'rpc'))).toEqual(['name', 'rpc'])
})
