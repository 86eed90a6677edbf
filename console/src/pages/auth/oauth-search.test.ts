import { beforeEach, expect, test, vi } from 'vitest'

const stored = new Map<string, string>()
const listeners: ((event: { persisted: boolean }) => void)[] = []
vi.stubGlobal('sessionStorage', {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => stored.set(key, value),
  removeItem: (key: string) => stored.delete(key),
})
vi.stubGlobal('location', { search: '?invite=secret' })
vi.stubGlobal('addEventListener', (name: string, listener: (event: { persisted: boolean }) => void) => {
  if (name === 'pageshow') listeners.push(listener)
})

/** Loads the module as a browser does on a new page. */
async function openPage() {
  vi.resetModules()
  return await import('./oauth-search.ts')
}

beforeEach(() => stored.clear())

test('a sign-in with a provider keeps the query string of the page on which it began, once', async () => {
  ;(await openPage()).saveSearchForReturn()
  const { consumeSavedSearch } = await openPage()
  expect(consumeSavedSearch()).toBe('?invite=secret')
  expect(consumeSavedSearch()).toBe('')
})

test('the browser no longer stores the query string once the user is back, even if the sign-in was abandoned', async () => {
  ;(await openPage()).saveSearchForReturn()
  expect([...stored.values()]).toEqual(['?invite=secret'])
  await openPage()
  expect([...stored]).toEqual([])
})

test('the browser no longer stores the query string after the user went back to a page that the browser kept', async () => {
  ;(await openPage()).saveSearchForReturn()
  for (const listener of listeners) listener({ persisted: true })
  expect([...stored]).toEqual([])
})
