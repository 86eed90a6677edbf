import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const email = 'hal@home.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page
let person: Awaited<ReturnType<typeof signInAs>>

beforeAll(async () => {
  browser = await connectToBrowser()
  person = await signInAs(browser, shoal, email)
  page = person.page
})

afterAll(async () => {
  await browser?.close()
})

const main = () => page.getByRole('navigation', { name: 'Main' })

test('a user with one organization has no home page', async () => {
  await page.goto('/home')
  await page.waitForURL(/\/squids/)
  await expect.poll(() => main().getByRole('link', { name: 'Home' }).count()).toBe(0)
})

test('with several organizations, the home page shows what needs attention in all of them', async () => {
  for (const [code, name] of [
    ['home-north', 'North'],
    ['home-south', 'South'],
  ] as const) {
    await person.api.orgs.create({ body: { code, name, email } })
    await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  }
  const deployer = { ...person, shoal, org: 'home-south' }
  await deploySimulated(deployer, { name: 'transfers', slot: 'v1' })
  const fails = { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'tsc found 7 errors' }
  const { id } = await deploySimulated(deployer, { name: 'transfers', slot: 'v1', build: { fails } })
  await page.goto('/squids?organization=home-north')
  await main().getByRole('link', { name: 'Home' }).click()
  await page.getByRole('heading', { name: 'North' }).waitFor()
  await waitForText(page, 'Nothing needs attention')
  const failed = page.getByRole('list', { name: 'South' }).getByRole('link', { name: 'Last deploy failed' })
  await failed.waitFor()
  expect(await accessibilityFlaws(page, 'home')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await failed.click()
  await page.waitForURL(new RegExp(`/squids/transfers/v1/deployments/${id}\\?organization=home-south`))
  await waitForText(page, 'The build failed')
})

test('if one organization cannot be loaded, the page says so and shows the others', async () => {
  await page.route('**/api/v1/orgs/home-north/**', (route) => route.fulfill({ status: 500, json: { error: 'broken' } }))
  await page.goto('/home')
  await waitForText(page, 'The state of North could not be loaded')
  await page.getByRole('list', { name: 'South' }).waitFor()
  await expect.poll(() => page.getByRole('list', { name: 'North' }).count()).toBe(0)
})
