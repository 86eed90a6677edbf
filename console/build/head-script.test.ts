import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { headScriptText } from './head-script.ts'

const link = (href: string) => [{ rel: 'modulepreload', href }]
const text = headScriptText({ signedIn: link('/layout.js'), signedOut: link('/forms.js'), squids: link('/squids.js') })

/** Runs the script on a page, and returns the links, the requests and the attributes of the document that it makes. */
function visit(path: string, stored: Record<string, string>) {
  const links: string[] = []
  const requests: { url: string; authorization: string }[] = []
  const dataset: Record<string, string> = {}
  runInNewContext(text, {
    URLSearchParams,
    location: new URL(path, 'http://console'),
    localStorage: { getItem: (key: string) => stored[key] ?? null },
    document: {
      documentElement: { dataset },
      createElement: () => ({}),
      head: { append: ({ href }: { href: string }) => links.push(href) },
    },
    fetch: (url: string, { headers }: { headers: { authorization: string } }) => {
      requests.push({ url, authorization: headers.authorization })
      return Promise.reject(new Error('no network'))
    },
  })
  return { links, urls: requests.map(({ url }) => url), requests, dataset }
}

const list = (code: string) => [
  '/api/v1/user',
  `/api/v1/orgs/${code}/squids/summaries`,
  `/api/v1/orgs/${code}/deployments?statusGroup=IN_PROGRESS&logs=false`,
]

test('without a stored token, the head script preloads the sign-in pages and requests nothing', () => {
  const { links, urls, dataset } = visit('/', {})
  expect([links, urls, dataset]).toEqual([['/forms.js'], [], {}])
})

test('with a stored token, the head script requests the session with this token, and marks the document so that the frame is shown', () => {
  const { links, requests, dataset } = visit('/secrets', { user_token: 'abc', userOrgCode: 'acme' })
  expect(links).toEqual(['/layout.js'])
  expect(requests).toEqual([{ url: '/api/v1/user', authorization: 'Bearer abc' }])
  expect(dataset).toEqual({ session: '' })
})

test('on the list of squids, the head script also requests the list of the stored organization', () => {
  const { links, urls } = visit('/squids', { user_token: 'abc', userOrgCode: 'acme' })
  expect([links, urls]).toEqual([['/layout.js', '/squids.js'], list('acme')])
})

test.each(['', '/', '/logs?from=1', '/deployments/7/changes'])(
  'on a page of a version (%s), the head script also requests the version',
  (rest) => {
    const { urls } = visit(`/squids/lending/v1${rest}`, { user_token: 'abc', userOrgCode: 'acme' })
    expect(urls).toEqual(['/api/v1/user', '/api/v1/orgs/acme/squids/lending@v1?files=false'])
  },
)

test.each(['/squids/deploy', '/squids/..%2Fx/v1', '/squids/a%22b/v1', '/squidsx/lending/v1'])(
  'on %s, the head script requests no version',
  (path) => expect(visit(path, { user_token: 'abc', userOrgCode: 'acme' }).urls).toEqual(['/api/v1/user']),
)

test('the organization in the address takes precedence over the stored one', () => {
  expect(visit('/squids/?organization=labs', { user_token: 'abc', userOrgCode: 'acme' }).urls).toEqual(list('labs'))
})

test.each(['..', '.', '..%2Fx', 'a%3Fb', '%22labs%22', '</script>'])(
  'with "%s" in the address instead of a code, the head script requests only the session',
  (code) => {
    const { urls } = visit(`/squids?organization=${code}`, { user_token: 'abc', userOrgCode: 'acme' })
    expect(urls).toEqual(['/api/v1/user'])
  },
)

test('without an organization, the head script requests only the session', () =>
  expect(visit('/squids', { user_token: 'abc' }).urls).toEqual(['/api/v1/user']))
