import { expect, test, vi } from 'vitest'

vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} })
vi.stubGlobal('fetch', async () => Response.json({ payload: [] }))

const { apiTokensQuery } = await import('./api-tokens.ts')

test('loading the list of tokens takes at least 300 ms (spec 7)', async () => {
  vi.useFakeTimers()
  try {
    let result: unknown = null
    void apiTokensQuery.queryFn({ signal: new AbortController().signal }).then((tokens) => (result = tokens))
    await vi.advanceTimersByTimeAsync(299)
    expect(result).toBeNull()
    await vi.advanceTimersByTimeAsync(1)
    expect(result).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})
