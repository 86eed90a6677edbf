import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws, newUser, openBrowser, switchTheme } from '../support/browser.ts'
import { signInAs } from '../support/people.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { connectTo, freezePostgres } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { promisedLimitMs } from '../support/tier.ts'

let shoal: Shoal
let browser: Browser
let page: Page
let token: string
let unfreeze = () => {}

const code = 'acme-labs'
/** The colour of tertiary text in the light theme. */
const mutedColour = 'rgb(95, 111, 122)'

beforeAll(async () => {
  ;[shoal, browser] = await Promise.all([
    startShoal({
      SHOAL_RUNTIME: 'sim',
      SHOAL_POSTGRES_CONNECTIONS: '150',
      SHOAL_SENTRY_DSN: 'https://key@sentry.invalid/1',
    }),
    openBrowser(),
  ])
  const person = await signInAs(browser, shoal, 'mira@acme.dev')
  ;({ page, token } = person)
  await person.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@acme.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const deployer = { shoal, org: code, token, api: person.api }
  expect(await deploySimulated(deployer, { name: 'transfers', slot: 'v1', tag: 'production' })).toMatchObject({
    failed: 'NO',
  })
})

afterAll(async () => {
  unfreeze()
  await browser?.close()
  await shoal?.end()
})

const connectionBanner = () => page.getByText(/No connection since \d\d:\d\d:\d\d, retrying/)
const maintenanceHeading = (target: Page) => target.getByRole('heading', { name: "We'll be back" })

/** Returns the status of a query to the squid. */
async function query() {
  const response = await fetch(`${shoal.gatewayUrl}/${code}/transfers@v1/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ __typename }"}',
  })
  await response.text()
  return response.status
}

/** Calls the API. Returns the response with its duration in milliseconds. */
async function call() {
  const startedMs = performance.now()
  const response = await fetch(`${shoal.url}/api/v1/user`, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: await response.text(), ms: performance.now() - startedMs }
}

test('the embedded Postgres of squids accepts the number of connections that the operator configured', async () => {
  const client = await connectTo(shoal.dataDir, 'postgres', 'postgres-squids')
  try {
    expect((await client.query('show max_connections')).rows).toEqual([{ max_connections: '150' }])
  } finally {
    await client.end()
  }
})

test('while the database is frozen, an open page keeps its data and shows a banner, and a new page shows the maintenance screen; both recover', async () => {
  await page.goto(`/squids?organization=${code}`)
  const row = page.getByText('transfers').first()
  await row.waitFor()
  const status = page.locator('#main .status-dot').first()
  await status.waitFor()
  const colour = () => page.evaluate<string>("getComputedStyle(document.querySelector('#main .status-dot')).color")
  expect(await colour()).not.toBe(mutedColour)
  const statusBefore = await query()
  expect(statusBefore).toBe(200)
  expect(await connectionBanner().isVisible()).toBe(false)

  unfreeze = freezePostgres(shoal.dataDir)
  await connectionBanner().waitFor({ timeout: 120_000 })
  expect(await row.isVisible()).toBe(true)
  expect(await colour()).toBe(mutedColour)
  expect(await page.getByText(/could not be/).count()).toBe(0)
  const response = await call()
  expect(response.status).toBe(503)
  expect(response.body).toContain("Shoal's database is not responding.")
  expect(response.ms).toBeLessThan(promisedLimitMs(3_000))
  expect(await query()).toBe(statusBefore)
  expect(await accessibilityFlaws(page, 'connection-lost')).toEqual([])

  const newPage = await page.context().newPage()
  await newPage.goto('/squids')
  await maintenanceHeading(newPage).waitFor()
  expect(await accessibilityFlaws(newPage, 'maintenance')).toEqual([])
  expect(await query()).toBe(statusBefore)

  unfreeze()
  await connectionBanner().waitFor({ state: 'hidden', timeout: 120_000 })
  await row.waitFor()
  // `accessibilityFlaws` leaves the page in the dark theme.
  await switchTheme(page, 'light')
  expect(await colour()).not.toBe(mutedColour)
  await newPage.getByText('transfers').first().waitFor({ timeout: 120_000 })
  expect(await maintenanceHeading(newPage).count()).toBe(0)
  expect((await call()).status).toBe(200)
  // The router logs the error that makes it show the maintenance screen.
  expect(pageErrors.filter((text) => !text.includes('/squids: ServiceUnavailable'))).toEqual([])
})

/** Returns an array that receives the URL of each document that the page requests from now on. */
const documentsOf = (target: Page) => {
  const documents: string[] = []
  target.on('request', (request) => request.isNavigationRequest() && documents.push(request.url()))
  return documents
}

test('while the server is stopped, a link to another page shows an error in the console, and opens the page when the server runs again', async () => {
  const target = await page.context().newPage()
  await target.goto(`/squids?organization=${code}`)
  await target.getByText('transfers').first().waitFor()
  const documents = documentsOf(target)
  await shoal.kill()
  await target.getByText(/No connection since \d\d:\d\d:\d\d, retrying/).waitFor({ timeout: 60_000 })
  const navigation = target.getByRole('navigation', { name: 'Main' })
  await navigation.getByRole('link', { name: 'Secrets' }).click()
  await target.getByRole('heading', { name: 'This page could not be shown' }).waitFor()
  expect(await navigation.isVisible()).toBe(true)
  expect(await accessibilityFlaws(target, 'page-not-loaded')).toEqual([])
  await target.setViewportSize({ width: 1440, height: 900 })
  await target.keyboard.press('Control+k')
  await target.keyboard.press('?')
  expect(await navigation.isVisible()).toBe(true)

  await shoal.start()
  await target.getByRole('heading', { name: 'Secrets', exact: true }).waitFor({ timeout: 60_000 })
  await target.getByText(/No connection since/).waitFor({ state: 'hidden', timeout: 30_000 })
  expect(documents).toEqual([])
  await target.close()
})

/** Returns the built file that contains a source file, because built files have other names than their sources. */
function fileOf(source: string): string {
  const manifest = readFileSync(new URL('../../console/dist/.vite/manifest.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as Record<string, { file: string }>)[source]?.file ?? ''
}

test('a page whose code no longer exists on the server reloads once, and then shows an error in the console', async () => {
  const target = await page.context().newPage()
  await target.goto(`/squids?organization=${code}`)
  await target.getByText('transfers').first().waitFor()
  const documents = documentsOf(target)
  const file = fileOf('src/pages/secrets/SecretsPage.tsx')
  await target.route(`**/${file}`, (route) => route.fulfill({ status: 404 }))
  const link = target.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Secrets' })
  await link.click()
  await expect.poll(() => documents.length).toBe(1)
  await target.getByRole('heading', { name: 'This page could not be shown' }).waitFor()
  expect(await link.isVisible()).toBe(true)
  await target.unroute(`**/${file}`)
  await target.getByRole('button', { name: 'Try again' }).click()
  await target.getByRole('heading', { name: 'Secrets', exact: true }).waitFor()
  expect(documents).toHaveLength(1)
  await target.close()
})

test.each([
  ['a browser without requestIdleCallback', 'delete window.requestIdleCallback', '**/no-such-file'],
  ['an error reporter that is blocked', '', '**/assets/sentry-*.js'],
  ['a command palette whose code is missing', '', '**/assets/CommandPalette-*.js'],
])('the console works with %s, and does not reload', async (_, script, blocked) => {
  const errorCount = pageErrors.length
  const target = await page.context().newPage()
  await target.addInitScript(script)
  await target.route(blocked, (route) => route.abort())
  const documents = documentsOf(target)
  await target.goto(`/squids?organization=${code}`)
  await target.getByText('transfers').first().waitFor()
  await target.keyboard.press('Control+k')
  await (
    blocked.includes('CommandPalette')
      ? target.getByText('The command palette could not be opened')
      : target.getByRole('dialog')
  ).waitFor()
  await target.goto('/secrets')
  await target.getByRole('heading', { name: 'Secrets', exact: true }).waitFor()
  await target.waitForLoadState('networkidle')
  expect(documents).toHaveLength(2)
  expect(pageErrors.slice(errorCount)).toEqual([])
  await target.close()
})

test('the error reporter starts only after the user has left an address with a secret, and never sends the secret', async () => {
  const context = await newUser(browser, shoal)
  const sent: string[] = []
  await context.route('https://sentry.invalid/**', async (route) => {
    sent.push(route.request().postDataBuffer()?.toString() ?? '')
    await route.fulfill({ status: 200, body: '{}' })
  })
  const target = await context.newPage()
  await target.goto('/restore/confirm/tok3n')
  await target.getByLabel('Password').first().waitFor()
  expect(sent).toEqual([])
  await target.evaluate("history.pushState({}, '', '/restore')")
  const errorCount = pageErrors.length
  await expect
    .poll(async () => {
      await target.evaluate("setTimeout(() => { throw new Error('a test error') })")
      return sent.join()
    })
    .toContain('a test error')
  // The browser's measurements of the first page, in which its address is, arrive later.
  await expect.poll(() => sent.join()).toContain('"name":"Pageload"')
  expect(sent.join()).toContain('/restore/confirm/…')
  expect(sent.join()).not.toContain('tok3n')
  pageErrors.splice(errorCount)
  await context.close()
})
