import { beforeEach, expect, test } from 'vitest'
import { createListReader } from './long-list.ts'

type Row = { id: number; seen: number }

let nowMs = 0
let existingIds: number[] = []
let requestedIds: (number[] | null)[] = []
beforeEach(() => {
  nowMs = 1_000_000
  requestedIds = []
})

const allIds = Array.from({ length: 101 }, (_, id) => id)
const fetchRows = async (ids: number[] | null): Promise<Row[]> => {
  requestedIds.push(ids)
  return existingIds.filter((id) => ids?.includes(id) ?? true).map((id) => ({ id, seen: nowMs }))
}

/** Polls repeatedly and keeps the result like the query cache does. */
function reading(count: number) {
  existingIds = allIds.slice(0, count)
  const read = createListReader<Row>(() => nowMs)
  let data: Row[] | undefined
  return async (visibleRows: number[], { after = 10_000, isInvalidated = false } = {}) => {
    nowMs += after
    data = await read(
      { data, isInvalidated },
      visibleRows.map((id) => ({ id })),
      fetchRows,
    )
    return data
  }
}

test('a long list fetches the visible rows on each poll, and all rows once a minute', async () => {
  const read = reading(101)
  await read([])
  const all = await read([3, 4])
  expect(all.map(({ id }) => id)).toEqual(allIds)
  expect(all.filter(({ seen }) => seen === nowMs).map(({ id }) => id)).toEqual([3, 4])
  for (let poll = 2; poll < 7; poll++) await read([3, 4])
  expect(requestedIds).toEqual([null, [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], null])
})

test('a long list fetches all rows after a change, after a deletion, and while no row is visible', async () => {
  const read = reading(101)
  await read([])
  await read([3], { isInvalidated: true })
  existingIds = existingIds.filter((id) => id !== 3)
  expect(await read([3, 4])).toHaveLength(100)
  await read([])
  expect(requestedIds).toEqual([null, null, [3, 4], null, null])
})

test('a short list is fetched in full on every poll', async () => {
  const read = reading(100)
  await read([3])
  await read([3])
  expect(requestedIds).toEqual([null, null])
})
