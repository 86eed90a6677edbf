import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hasFailed } from './connection.ts'
import { createQueryClient } from './query-client.ts'
import { sessionQuery } from './session.ts'

const respond = (status: number) => Response.json(status === 200 ? { payload: { id: 1 } } : { error: 'no' }, { status })
const fetchMock = vi.fn<() => Promise<Response>>()

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', fetchMock)
  vi.stubGlobal('localStorage', { getItem: (key: string) => (key === 'user_token' ? 'a token' : null) })
})
afterEach(() => {
  fetchMock.mockReset()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

/** The status of the session in a new tab, while the API responds with these statuses one after the other. */
async function statusAfter(...statuses: number[]) {
  fetchMock.mockClear()
  for (const status of statuses) fetchMock.mockImplementationOnce(async () => respond(status))
  const client = createQueryClient()
  const loaded = client.fetchQuery(sessionQuery)
  await vi.runOnlyPendingTimersAsync()
  const { status } = await loaded
  expect(fetchMock).toHaveBeenCalledTimes(statuses.length)
  return { status, client }
}

test('a new tab requests the session again after a 503, but not after a 200 or 401', async () => {
  expect((await statusAfter(503, 200)).status).toBe('signedIn')
  expect((await statusAfter(200)).status).toBe('signedIn')
  expect((await statusAfter(401)).status).toBe('signedOut')
})

test('while the server stays unavailable, each refetch after the first load sends one request', async () => {
  const { status, client } = await statusAfter(503, 503)
  expect(status).toBe('unavailable')
  fetchMock.mockImplementationOnce(async () => respond(503))
  expect(await client.fetchQuery({ ...sessionQuery, staleTime: 0 })).toEqual({ status: 'unavailable' })
  expect(fetchMock).toHaveBeenCalledTimes(3)
})

test('during announced maintenance, a new tab is unavailable after one request, and an open page keeps its session and records no outage', async () => {
  const maintenance = Response.json({ error: 'A disk is being replaced.', code: 'MAINTENANCE' }, { status: 503 })
  fetchMock.mockImplementation(async () => maintenance.clone())
  expect(await createQueryClient().fetchQuery(sessionQuery)).toEqual({ status: 'unavailable' })
  expect(fetchMock).toHaveBeenCalledTimes(1)

  const client = createQueryClient()
  fetchMock.mockImplementationOnce(async () => respond(200))
  const session = await client.fetchQuery(sessionQuery)
  await expect(client.fetchQuery({ ...sessionQuery, staleTime: 0 })).rejects.toThrow('A disk is being replaced.')
  expect(client.getQueryData(sessionQuery.queryKey)).toEqual(session)
  expect(hasFailed()).toBe(false)
})
