import { beforeEach, expect, test } from 'vitest'
import { createListReader } from './long-list.ts'

type Row = { id: number; fetchedAtMs: number }

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
  return existingIds.filter((id) => ids?.includes(id) ?? true).map((id) => ({ id, fetchedAtMs: nowMs }))
}

/** Returns a function that polls a list of this length and caches the result as the query cache does. */
function createPoller(count: number) {
  existingIds = allIds.slice(0, count)
  const readList = createListReader<Row>(() => nowMs)
  let data: Row[] | undefined
  return async (visibleRows: number[], { after = 10_000, isInvalidated = false } = {}) => {
    nowMs += after
    data = await readList(
      { data, isInvalidated },
      visibleRows.map((id) => ({ id })),
      fetchRows,
    )
    return data
  }
}

test('a long list fetches the visible rows on each poll, and all rows once a minute', async () => {
  const poll = createPoller(101)
  await poll([])
  const rows = await poll([3, 4])
  expect(rows.map(({ id }) => id)).toEqual(allIds)
  expect(rows.filter(({ fetchedAtMs }) => fetchedAtMs === nowMs).map(({ id }) => id)).toEqual([3, 4])
  for (let count = 2; count < 7; count++) await poll([3, 4])
  expect(requestedIds).toEqual([null, [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], null])
})

test('a long list fetches all rows after a change, after a deletion, and while no row is visible', async () => {
  const poll = createPoller(101)
  await poll([])
  await poll([3], { isInvalidated: true })
  existingIds = existingIds.filter((id) => id !== 3)
  expect(await poll([3, 4])).toHaveLength(100)
  await poll([])
  expect(requestedIds).toEqual([null, null, [3, 4], null, null])
})

test('a short list is fetched in full on every poll', async () => {
  const poll = createPoller(100)
  await poll([3])
  await poll([3])
  expect(requestedIds).toEqual([null, null])
})
