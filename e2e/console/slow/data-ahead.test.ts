import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page, Request, Response } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const shoal = consoleShoal()
const manifestFile = join(import.meta.dirname, '../../../console/dist/.vite/manifest.json')
const code = 'data-ahead-labs'
const reference = 'lending@v1'
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'mira@ahead.dev')
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@ahead.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const deployer = { shoal, org: code, token: person.token, api: person.api }
  await deploySimulated(deployer, { name: 'lending', slot: 'v1' })
})

afterAll(async () => {
  await browser?.close()
})

/** Returns the file of the build that contains a module of the console. */
const fileOf = (module: string): string => {
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, { file: string }>
  const chunk = manifest[`src/${module}.tsx`]
  if (!chunk) throw new Error(`The build has no chunk for ${module}`)
  return chunk.file
}

const isApi = (request: Request, path: string) => request.url().includes(`/orgs/${code}/${path}`)
const openList = async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.locator(`[data-row="${reference}"]`).waitFor()
}

/** Code that sets a performance mark when the list has its first row. It runs in the browser. */
const markFirstRow = `new MutationObserver((_, observer) => {
  if (!document.querySelector('[data-row]')) return
  performance.mark('first row')
  observer.disconnect()
}).observe(document, { childList: true, subtree: true })`

/**
 * Code that returns the requests that began before the mark, except API requests that began after the response with the rows: the page
 * loads the bar charts of requests while it draws the first row. It runs in the browser.
 */
const requestsBeforeFirstRow = `['navigation', 'resource']
  .flatMap((type) => performance.getEntriesByType(type))
  .filter(({ startTime }) => startTime < performance.getEntriesByName('first row')[0].startTime)
  .filter(({ name, startTime }, _, all) =>
    !name.includes('/api/') || startTime < all.find((entry) => entry.name.endsWith('/squids/summaries')).responseEnd)
  .map(({ name, encodedBodySize }) => ({ url: name, bytes: encodedBodySize }))`

test('the list needs at most 14 requests before its first row, and 150 KB of scripts', async () => {
  await page.addInitScript(markFirstRow)
  await openList()
  const requests = await page.evaluate<{ url: string; bytes: number }[]>(requestsBeforeFirstRow)
  const urls = requests.map(({ url }) => url)
  expect(urls.length, urls.join('\n')).toBeLessThanOrEqual(14)
  expect(urls.filter((url) => url.endsWith('/squids/summaries'))).toHaveLength(1)
  const scripts = requests.filter(({ url }) => url.endsWith('.js'))
  expect(scripts.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(150 * 1024)
})

test('a hovered link loads the data of its page', async () => {
  await openList()
  // The filters load last. After that, nothing moves below the mouse.
  await page.getByRole('button', { name: /Status$/ }).waitFor()
  const version = page.waitForRequest((request) => isApi(request, `squids/${reference}`))
  const deployments = page.waitForRequest((request) => isApi(request, 'deployments?squidId='))
  await page.locator(`[data-row="${reference}"] a`).first().hover()
  await Promise.all([version, deployments])
  const secrets = page.waitForRequest((request) => isApi(request, 'secrets'))
  await page.getByRole('link', { name: 'Secrets' }).first().hover()
  await secrets
  expect(new URL(page.url()).pathname).toBe('/squids')
})

test('a hovered link also loads the code of the lists of its page', async () => {
  await openList()
  await page.getByRole('button', { name: /Status$/ }).waitFor()
  const roles = page.waitForRequest((request) => isApi(request, 'roles'))
  const link = page.getByRole('link', { name: 'Organization settings' }).first()
  await link.hover()
  await roles
  await page.route('**/assets/*.js', (route) => route.abort())
  await link.click()
  await page.getByRole('table', { name: 'Members' }).locator('[data-row]').first().waitFor()
  expect(new URL(page.url()).pathname).toBe('/settings')
  await page.unrouteAll({ behavior: 'wait' })
})

/** Code that returns the times of the API requests for the session, the version and its deployments. It runs in the browser. */
const versionRequests = `['/v1/user', '/squids/${reference}?files=false', '/deployments?squidId=']
  .map((path) => performance.getEntriesByType('resource').filter(({ name }) => name.includes(path)))
  .map(([{ startTime, responseEnd }]) => ({ startTime, responseEnd }))`

test('a page of a version requests the version with the session, and the data of the tab when the version responds', async () => {
  await page.goto(`/squids/lending/v1/deployments?organization=${code}`)
  await page.locator('[data-row]').first().waitFor()
  const [session, version, deployments] =
    await page.evaluate<{ startTime: number; responseEnd: number }[]>(versionRequests)
  expect(version?.startTime).toBeLessThan(session?.responseEnd ?? 0)
  expect(deployments?.startTime).toBeGreaterThan(version?.responseEnd ?? Infinity)
})

/** Opens the list, and then holds the requests to URLs that match. Returns a function that sends them and holds no others. */
async function openListAndHold(urls: string): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  await openList()
  await page.getByRole('button', { name: /Status$/ }).waitFor()
  await page.route(urls, async (route) => {
    await held.promise
    await route.continue()
  })
  return async () => {
    held.resolve()
    await page.unrouteAll({ behavior: 'wait' })
  }
}

test('a hovered link to a version of the list loads the data of its page before the version responds', async () => {
  const release = await openListAndHold(`**/squids/${reference}?files=false`)
  const deployments = page.waitForRequest((request) => isApi(request, 'deployments?squidId='))
  await page.locator(`[data-row="${reference}"] a`).first().hover()
  await deployments
  expect(new URL(page.url()).pathname).toBe('/squids')
  await release()
})

/** Does what hovering over a link to the page does, for pages without such a link. */
const preload = (to: string, search = {}) => {
  const params = { squidName: 'lending', squidSlot: 'v1' }
  return page.evaluate(`__TSR_ROUTER__.preloadRoute(${JSON.stringify({ to, params, search })}), null`)
}

test('the charts of a version of the list load before the version responds', async () => {
  const release = await openListAndHold(`**/squids/${reference}?files=false`)
  const requests = ['metrics/ingress/', 'metrics/usage/', 'deployments?'].map((path) =>
    page.waitForRequest((request) => isApi(request, path) && !request.url().includes('statusGroup')),
  )
  await preload('/squids/$squidName/$squidSlot/metrics')
  expect(await Promise.all(requests)).toHaveLength(3)
  await release()
})

test('the schema of a version of the list loads before the version responds', async () => {
  const release = await openListAndHold(`**/squids/${reference}?files=false`)
  const schema = page.waitForRequest((request) => request.url().endsWith(`/${code}/${reference}/api/graphql`))
  await preload('/squids/$squidName/$squidSlot/schema')
  expect((await schema).method()).toBe('POST')
  await release()
})

test('the newest build log of a version of the list loads before the version responds', async () => {
  const release = await openListAndHold(`**/squids/${reference}?files=false`)
  const log = page.waitForRequest((request) => isApi(request, 'deployments/'))
  await preload('/squids/$squidName/$squidSlot/logs', { container: ['@build'] })
  expect(await log).toBeTruthy()
  await release()
})

/** Pages that show parts in other chunks: the path, the module of the page, and those of the parts. */
const pagesWithParts: [path: string, page: string, ...parts: string[]][] = [
  ['/settings', 'pages/settings/SettingsPage', 'pages/settings/Members', 'pages/settings/DangerZone'],
  ['/billing', 'pages/billing/BillingPage', 'pages/billing/MonthCost', 'pages/billing/Calculator'],
  ['/profile/settings', 'pages/profile/AccountSettingsPage', 'pages/profile/Sessions'],
  ['/monitoring', 'pages/monitoring/MonitoringPage', 'components/chart/Plot'],
  ['/squids/$squidName/$squidSlot', 'pages/version/general/GeneralTab', 'pages/version/ProcessorsTable'],
  ['/squids/$squidName/$squidSlot/metrics', 'pages/metrics/MetricsTab', 'components/chart/Plot'],
]

test.each(pagesWithParts)('%s loads the code of its parts at the same time as its own', async (path, ...modules) => {
  const [ownFile = '', ...partFiles] = modules.map(fileOf)
  const release = await openListAndHold(`**/${ownFile}`)
  const requested = [ownFile, ...partFiles].map((file) => page.waitForRequest(`**/${file}`))
  await preload(path)
  expect(await Promise.all(requested)).toHaveLength(modules.length)
  await release()
})

test('charts at the top of a page are drawn without waiting for the observer of their visibility', async () => {
  const other = await page.context().newPage()
  await other.addInitScript('IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} }')
  await other.goto(`/squids/lending/v1/metrics?organization=${code}`)
  const chart = other.locator('main canvas').first()
  await chart.waitFor()
  expect(await chart.isVisible()).toBe(true)
  await other.close()
})

test('the API does not send an unchanged version again, and polls do not request its manifest', async () => {
  const other = await page.context().newPage()
  await other.clock.install()
  const isVersion = (url: string) => url.includes(`/orgs/${code}/squids/${reference}?files=false`)
  let unchanged: Response | null = null
  other.on('response', (response) => {
    if (isVersion(response.url()) && response.status() === 304) unchanged = response
  })
  await other.goto(`/squids/lending/v1?organization=${code}`)
  // The page polls every 5 seconds.
  const response: Response = await until(async () => {
    await other.clock.runFor(5_000)
    return unchanged
  }, 'the API responds that the version has not changed')
  expect(await response.request().headerValue('if-none-match')).toBeTruthy()
  await other.getByRole('link', { name: 'Manifest' }).click()
  await other.getByText('name: lending').waitFor()
  await other.close()
})
