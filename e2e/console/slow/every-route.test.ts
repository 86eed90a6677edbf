import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const shoal = consoleShoal()
const code = 'every-route-labs'
const email = 'rosa@every-route.dev'
let browser: Browser
let context: BrowserContext
/** The values of the parameters in the paths of routes. */
let params: Record<string, string>

beforeAll(async () => {
  browser = await connectToBrowser()
  const { page, token, api, ...person } = await signInAs(browser, shoal, email)
  context = person.context
  await page.close()
  await shoal.cli('user', 'set-operator', email)
  // The Portal's pages are open in preview mode.
  await context.addCookies([{ name: 'beta', value: 'true', url: shoal.url }])
  await api.orgs.create({ body: { code, name: 'Acme Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await api.secrets.change({
    params: { code },
    body: { secrets: [{ name: 'RPC_KEY', value: 'a value', action: 'UPDATE' }] },
  })
  const { id } = await deploySimulated({ shoal, org: code, token, api }, { name: 'lending', slot: 'v1' })
  params = { squidName: 'lending', squidSlot: 'v1', deployId: String(id), name: 'RPC_KEY', code }
})

afterAll(async () => {
  await browser?.close()
})

/** A page that sends only the requests of the layout. */
const startPath = '/profile/api-tokens/create'
const startHeading = 'Create API token'

/** Requests that a page sends only after it has rendered, with the reason. */
const laterRequests: Record<string, { requests: RegExp; reason: string }> = {
  '/squids': {
    requests: /metrics\/ingress|deployments\?limit=50/,
    reason: 'the rows do not wait for the bar charts and the failed first deployments',
  },
  '/squids/$squidName/$squidSlot/logs': { requests: /\/logs\//, reason: 'the log is a stream' },
  '/squids/$squidName/$squidSlot/playground': { requests: /\/graphql$/, reason: 'GraphiQL requests the schema itself' },
  '/confirm-email': { requests: /^POST/, reason: 'the visit itself confirms the email' },
  '/verify-email': { requests: /^POST/, reason: 'the visit itself confirms the email' },
}

/** The parameters of a path, with the id of a chain or dataset. */
const paramsOf = (path: string) => ({ ...params, id: path.startsWith('/portal') ? 'ethereum-mainnet' : 'eth' })

const withoutSlash = (path: string) => path.replace(/\/$/, '')

/** Waits until the router and all queries are idle, and the page shows no placeholder. */
const settle = (page: Page) =>
  until(
    () =>
      page.evaluate<boolean>(
        `__TSR_ROUTER__.state.status === 'idle' && __TSR_ROUTER__.options.context.queryClient.isFetching() === 0
          && document.querySelectorAll('.skeleton').length === 0`,
      ),
    'the page has loaded',
  )

/** Calls a function of the router with the path of a route. */
const callRouter = (page: Page, name: 'preloadRoute' | 'navigate', path: string) =>
  page.evaluate(`__TSR_ROUTER__.${name}({ to: ${JSON.stringify(path)}, params: ${JSON.stringify(paramsOf(path))} })`)

/** Opens the start page without a reload, and discards everything that was loaded for other pages. */
async function startAgain(page: Page): Promise<void> {
  await callRouter(page, 'navigate', startPath)
  await page.getByRole('heading', { level: 1, name: startHeading }).waitFor()
  await settle(page)
  await page.evaluate(`__TSR_ROUTER__.clearCache()
    __TSR_ROUTER__.options.context.queryClient.removeQueries({ type: 'inactive' })`)
}

/** Records the API requests of a page, each once, until `stop`. */
function recordRequests(page: Page): { sent: Set<string>; stop: () => void } {
  const sent = new Set<string>()
  const record = (request: Request) => {
    const { pathname, search } = new URL(request.url())
    if (request.resourceType() !== 'image' && pathname.startsWith('/api/'))
      sent.add(`${request.method()} ${pathname}${search}`)
  }
  page.on('request', record)
  return { sent, stop: () => page.off('request', record) }
}

/**
 * Opens a page, and returns the API requests that it sends only after it has rendered, because its loader has not sent them; none if the
 * route redirects.
 *
 * @param ofLayout the requests that the layout sends on every page
 */
async function requestsAfterLoader(page: Page, path: string, ofLayout: Set<string>): Promise<string[]> {
  await startAgain(page)
  const { sent, stop } = recordRequests(page)
  // Hovering over a link does the same.
  await callRouter(page, 'preloadRoute', path)
  await settle(page)
  expect(new URL(page.url()).pathname).toBe(startPath)
  const sentAhead = new Set([...ofLayout, ...sent])
  await callRouter(page, 'navigate', path)
  await page.locator('h1').waitFor()
  await settle(page)
  stop()
  const openedPath = await page.evaluate<string>('__TSR_ROUTER__.state.matches.at(-1).fullPath')
  return withoutSlash(openedPath) === withoutSlash(path) ? [...sent.difference(sentAhead)] : []
}

test(
  'the loader of every route sends all requests of its page, before the page renders',
  { timeout: 900_000 },
  async () => {
    const page = await context.newPage()
    const { sent: ofLayout, stop } = recordRequests(page)
    await page.goto(`${startPath}?organization=${code}`)
    await page.locator('h1').waitFor()
    await settle(page)
    stop()
    const paths = await page.evaluate<string[]>('Object.keys(__TSR_ROUTER__.routesByPath)')
    const late: Record<string, string[]> = {}
    for (const path of paths) {
      const requests = (await requestsAfterLoader(page, path, ofLayout)).filter(
        (request) => !laterRequests[path]?.requests.test(request),
      )
      if (requests.length > 0) late[path] = requests
    }
    expect(late).toEqual({})
  },
)
