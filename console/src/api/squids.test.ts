import { QueryClient } from '@tanstack/react-query'
import { expect, test, vi } from 'vitest'

vi.stubGlobal('localStorage', { getItem: () => null })
let runningIds: number[] = []
vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ payload: runningIds.map((id) => ({ id })) })))

const { inProgressQuery, squidsQuery } = await import('./squids.ts')

test('the versions are refetched when a deployment ends, even if another one begins at the same time', async () => {
  const client = new QueryClient()
  const { queryKey } = squidsQuery('acme')
  const areStaleAfter = async (ids: number[]) => {
    client.setQueryData(queryKey, [])
    runningIds = ids
    await client.fetchQuery(inProgressQuery('acme'))
    return client.getQueryState(queryKey)?.isInvalidated
  }
  expect(await areStaleAfter([])).toBe(false)
  expect(await areStaleAfter([7])).toBe(true)
  expect(await areStaleAfter([7])).toBe(false)
  expect(await areStaleAfter([8])).toBe(true)
  expect(await areStaleAfter([])).toBe(true)
})
