import { createMemoryHistory, type AnyRoute } from '@tanstack/react-router'
import { QueryClient } from '@tanstack/react-query'
import { beforeEach, expect, test, vi } from 'vitest'
import type { User } from '@shoal/contract'
import { screens } from '../../../scripts/screens/pages.ts'

// Stubs of the browser APIs that the router and the local settings use.
const stored = new Map<string, string>()
vi.stubGlobal('localStorage', {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => void stored.set(key, value),
  removeItem: (key: string) => void stored.delete(key),
})
for (const name of ['window', 'self'])
  vi.stubGlobal(name, { origin: 'http://localhost', addEventListener: () => {}, scrollTo: () => {} })
vi.stubGlobal('document', { cookie: '', querySelector: () => null, addEventListener: () => {} })

const { makeRouter } = await import('./router.tsx')
const { sessionQuery } = await import('../api/session.ts')
type Session = NonNullable<ReturnType<typeof signedOut>>
const signedOut = () => ({ status: 'signedOut' }) as { status: 'signedOut' } | { status: 'signedIn'; user: User }

/** The routes of spec 2.1. */
const guestPaths = ['/', '/signup', '/restore', '/restore/confirm/$token', '/oauth/$provider']
/** The routes of spec 2.2. */
const specPaths = [
  '/squids',
  '/squids/deploy',
  '/squids/$squidName/$squidSlot',
  ...[
    'details',
    'logs',
    'db',
    'metrics',
    'manifest',
    'package',
    'processors',
    'deployments',
    'deployments/$deployId',
  ].map((tab) => `/squids/$squidName/$squidSlot/${tab}`),
  '/monitoring',
  '/secrets',
  '/secrets/add',
  '/secrets/edit/$name',
  '/rpc',
  '/rpc/token',
  '/rpc/chains/$id',
  '/portal',
  '/portal/chains',
  '/portal/chains/$id',
  '/settings',
  '/billing',
  '/billing/usage',
  '/billing/limits',
  '/profile/api-tokens',
  '/profile/api-tokens/create',
  '/profile/settings',
  '/preview',
  '/organizations/create/{-$code}',
  '/organizations/secretes',
]

/** Routes that the spec does not list. */
const otherPaths = [
  '/home',
  '/confirm-email',
  '/verify-email',
  '/squids/$squidName/$squidSlot/playground',
  '/squids/$squidName/$squidSlot/schema',
  '/squids/$squidName/$squidSlot/deployments/$deployId/changes',
  '/settings/status-page',
  '/settings/domains',
  '/monitoring/alerts',
  ...['', '/deployments', '/organizations', '/squids', '/users'].map((tab) => `/admin${tab}`),
  ...['history', 'rules', 'channels', 'deliveries'].map((tab) => `/monitoring/alerts/${tab}`),
]

const org = (id: number, code: string) => ({ id, code }) as User['organizations'][number]
const user = { organizations: [org(1, 'playground'), org(2, 'acme')] } as User

function open(url: string, session: Session) {
  const client = new QueryClient()
  client.setQueryData(sessionQuery.queryKey, session)
  const router = makeRouter(client, createMemoryHistory({ initialEntries: [url] }))
  return router.load().then(() => router.state.location.href)
}

beforeEach(() => stored.clear())

const withoutTrailingSlash = (path: string) => (path === '/' ? path : path.replace(/\/$/, ''))

test('the routes are exactly those of spec 2.1 and 2.2 and those that Shoal adds', () => {
  const router = makeRouter(new QueryClient(), createMemoryHistory())
  const paths = new Set(Object.keys(router.routesByPath).map(withoutTrailingSlash))
  paths.delete('/$')
  expect([...paths].sort()).toEqual([...guestPaths, ...specPaths, ...otherPaths].sort())
})

/** Routes that show no page, with the reason. */
const withoutScreen = {
  '/oauth/$provider': 'is shown only until the provider has responded',
  '/organizations/secretes': 'redirects to the secrets',
  '/portal': 'redirects to the chains of the Portal',
}

test('every other route has a screen, of which `npm run screens` takes screenshots', () => {
  const router = makeRouter(new QueryClient(), createMemoryHistory())
  const shown = screens({ ok: 1, failed: 2, failedFirst: 3, running: 4 }).map(({ path }) => {
    const route = router.getMatchedRoutes(new URL(path, 'http://localhost').pathname)[0].at(-1)
    return withoutTrailingSlash(String(route?.fullPath))
  })
  const paths = Object.keys(router.routesByPath).map(withoutTrailingSlash)
  const missing = new Set(paths).difference(new Set([...shown, '/$']))
  expect([...missing].sort()).toEqual(Object.keys(withoutScreen).sort())
})

/** Routes behind the session gate that start no query, with the reason. */
const withoutQueries = {
  ...Object.fromEntries(
    ['details', 'db', 'processors'].map((tab) => [
      `/squids/$squidName/$squidSlot/${tab}`,
      'shows the version, which the parent route starts to load',
    ]),
  ),
  '/profile/api-tokens/create': 'shows only what the session contains',
  '/preview': 'shows only a local setting',
  '/admin': 'shows only tabs',
}

test('every other route behind the session gate starts its queries while its code loads', () => {
  const router = makeRouter(new QueryClient(), createMemoryHistory())
  const routes = Object.values(router.routesById) as AnyRoute[]
  const pages = routes.filter(({ id, options }) => id.startsWith('/app/') && options.component)
  const withoutLoader = pages.filter(({ options }) => !options.loader).map(({ fullPath }) => fullPath as string)
  expect(withoutLoader.sort()).toEqual(Object.keys(withoutQueries).sort())
})

test('every page in the frame of the app has a heading while its code loads, and no tab has another one', () => {
  const router = makeRouter(new QueryClient(), createMemoryHistory())
  const routes = Object.values(router.routesById) as AnyRoute[]
  const pages = routes.filter(({ id, options }) => id.startsWith('/app/') && options.component)
  const isPage = ({ parentRoute }: AnyRoute) => parentRoute.id === '/app'
  const wrong = pages.filter((route) => isPage(route) !== (route.options.staticData?.title !== undefined))
  expect(wrong.map(({ fullPath }) => fullPath as string)).toEqual([])
})

test.each([
  ['/squids', '/'],
  ['/secrets/add?organization=acme&acceptInviteId=007', '/?organization=acme&acceptInviteId=007'],
  ['/nowhere/at/all?email=a%40b.de', '/?email=a%40b.de'],
  ['/signup?email=a%40b.de&unknown=1&unknown=2', '/signup?email=a%40b.de&unknown=1&unknown=2'],
  ['/oauth/github?state=1', '/'],
  ['/oauth/github?code=1&state=2', '/oauth/github?code=1&state=2'],
])('signed out: %s shows %s', async (from, to) => expect(await open(from, signedOut())).toBe(to))

test.each([
  ['/', '/squids'],
  [
    '/signup?organization=acme&acceptInviteId=12345678901234567890',
    '/squids?organization=acme&acceptInviteId=12345678901234567890',
  ],
  ['/nowhere?month=2026-09', '/squids?month=2026-09'],
  ['/signup?email=a%40b.de&organization=acme', '/squids?organization=acme'],
  ['/organizations/secretes', '/secrets'],
  ['/portal', '/portal/chains'],
  ['/billing/usage?month=2026-09&bySquid=true', '/billing/usage?month=2026-09&bySquid=true'],
])('signed in: %s shows %s', async (from, to) => expect(await open(from, { status: 'signedIn', user })).toBe(to))

test("the operator's console opens for operators; for other users its paths are unknown", async () => {
  const operator = { ...user, isOperator: true }
  expect(await open('/admin/squids?sort=logs', { status: 'signedIn', user: operator })).toBe('/admin/squids?sort=logs')
  expect(await open('/admin', { status: 'signedIn', user: operator })).toBe('/admin')
  for (const path of ['/admin', '/admin/squids', '/admin/nothing', '/nothing'])
    expect(await open(`${path}?month=2026-09`, { status: 'signedIn', user })).toBe('/squids?month=2026-09')
  expect(await open('/admin', signedOut())).toBe('/')
})

test('`organization` in the URL selects that organization if the user is a member', async () => {
  await open('/squids?organization=acme', { status: 'signedIn', user })
  expect(stored.get('userOrg')).toBe('2')
  await open('/squids?organization=strangers', { status: 'signedIn', user })
  expect(stored.get('userOrg')).toBe('2')
})
