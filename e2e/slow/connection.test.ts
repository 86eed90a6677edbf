import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws, openBrowser, switchTheme } from '../support/browser.ts'
import { signInAs } from '../support/people.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { connectTo, freezePostgres } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { withinPromised } from '../support/tier.ts'

let shoal: Shoal
let browser: Browser
let page: Page
let token: string
let unfreeze = () => {}

const code = 'acme-labs'
/** The tertiary text colour of the light theme. */
const muted = 'rgb(95, 111, 122)'

beforeAll(async () => {
  ;[shoal, browser] = await Promise.all([
    startShoal({ SHOAL_RUNTIME: 'sim', SHOAL_POSTGRES_CONNECTIONS: '150' }),
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

const bar = () => page.getByText(/No connection since \d\d:\d\d:\d\d, retrying/)
const title = (target: Page) => target.getByRole('heading', { name: "We'll be back" })

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

/** Calls the API and measures the time. */
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

test('while the database is frozen, an open page keeps its data and shows a bar; a new page shows the maintenance screen; both recover', async () => {
  await page.goto(`/squids?organization=${code}`)
  const row = page.getByText('transfers').first()
  await row.waitFor()
  const status = page.locator('#main .status-dot').first()
  await status.waitFor()
  const colour = () => page.evaluate<string>("getComputedStyle(document.querySelector('#main .status-dot')).color")
  expect(await colour()).not.toBe(muted)
  const statusBefore = await query()
  expect(statusBefore).toBe(200)
  expect(await bar().isVisible()).toBe(false)

  unfreeze = freezePostgres(shoal.dataDir)
  await bar().waitFor({ timeout: 120_000 })
  expect(await row.isVisible()).toBe(true)
  expect(await colour()).toBe(muted)
  expect(await page.getByText(/could not be/).count()).toBe(0)
  const response = await call()
  expect(response.status).toBe(503)
  expect(response.body).toContain("Shoal's database is not responding.")
  expect(response.ms).toBeLessThan(withinPromised(3_000))
  expect(await query()).toBe(statusBefore)
  expect(await accessibilityFlaws(page, 'connection-lost')).toEqual([])

  const newPage = await page.context().newPage()
  await newPage.goto('/squids')
  await title(newPage).waitFor()
  expect(await accessibilityFlaws(newPage, 'maintenance')).toEqual([])
  expect(await query()).toBe(statusBefore)

  unfreeze()
  await bar().waitFor({ state: 'hidden', timeout: 120_000 })
  await row.waitFor()
  // `accessibilityFlaws` leaves the page in the dark theme.
  await switchTheme(page, 'light')
  expect(await colour()).not.toBe(muted)
  await newPage.getByText('transfers').first().waitFor({ timeout: 120_000 })
  expect(await title(newPage).count()).toBe(0)
  expect((await call()).status).toBe(200)
  // The router logs the error for which it shows the maintenance screen.
  expect(pageErrors.filter((text) => !text.includes('/squids: ServiceUnavailable'))).toEqual([])
})
