import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'refetch-labs'
const email = 'ann@refetch.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, email)
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Refetch Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await deploySimulated({ ...person, shoal, org: code }, { name: 'transfers', slot: 'v1' })
})

afterAll(async () => {
  await browser?.close()
})

const open = (path: string) => page.goto(`${path}?organization=${code}`)

/** Runs the action while requests for data of the organization and for the session get no response, and then lets all of them continue. */
async function withoutRefetches(act: () => Promise<void>): Promise<void> {
  const heldRoutes: Route[] = []
  const hold = (route: Route) => (route.request().method() === 'GET' ? void heldRoutes.push(route) : route.continue())
  // The data of the organization, and the session.
  const held = new RegExp(`/api/v1/(orgs/${code}/|user$)`)
  await page.route(held, hold)
  try {
    await act()
  } finally {
    await page.unroute(held, hold)
    // A request that the page has cancelled in the meantime cannot continue.
    await Promise.all(heldRoutes.map((route) => route.continue().catch(() => null)))
  }
}

test('a dialog closes when the API responds, and the header and the list show the new state without a refetch', async () => {
  await open('/squids')
  await page.getByRole('link', { name: 'transfers@v1' }).click()
  const header = page.locator('header').filter({ has: page.getByRole('heading', { name: /^transfers/, level: 1 }) })
  await header.getByText('Healthy').or(header.getByText('Processing')).first().waitFor()
  await withoutRefetches(async () => {
    await page.getByRole('button', { name: 'Actions for transfers@v1' }).click()
    await page.getByRole('menuitem', { name: 'Hibernate' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Hibernate' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await header.getByText('Hibernating').waitFor()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Squids' }).click()
    await page.locator('[data-row="transfers@v1"]').getByText('Hibernating').filter({ visible: true }).waitFor()
  })
  const row = page.locator('[data-row="transfers@v1"]')
  await row.getByText('Hibernated').filter({ visible: true }).waitFor()
  expect(await row.getByText('Hibernating').count()).toBe(0)
})

test('a switch shows the state that the server confirmed, without a refetch', async () => {
  await open('/monitoring/alerts/rules')
  const first = page.getByRole('list', { name: 'Rules' }).getByRole('switch').first()
  await first.waitFor()
  expect(await first.isChecked()).toBe(true)
  await withoutRefetches(async () => {
    const response = page.waitForResponse((candidate) => candidate.request().method() === 'PUT')
    await first.click()
    await response
    // Without a refetch, the switch shows either the response or the state before the call.
    await expect.poll(() => first.isChecked()).toBe(false)
  })
  await page.reload()
  await first.waitFor()
  expect(await first.isChecked()).toBe(false)
})

test('an invited member and a new secret appear, and a deleted secret disappears, without a refetch', async () => {
  await open('/settings')
  await page.getByRole('button', { name: 'Invite' }).first().click()
  await withoutRefetches(async () => {
    await page.getByRole('dialog').getByLabel('Email').fill('bob@refetch.dev')
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
    await waitForText(page, 'bob@refetch.dev')
  })
  await open('/secrets')
  await waitForText(page, 'No secrets yet')
  await page.getByRole('link', { name: 'Add secret' }).click()
  await page.getByLabel('Name').fill('API_KEY')
  await page.getByLabel('Value').fill('abc')
  await withoutRefetches(async () => {
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('cell', { name: 'API_KEY', exact: true }).waitFor()
  })
  await page.getByRole('button', { name: 'Actions for API_KEY' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await withoutRefetches(async () => {
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await waitForText(page, 'No secrets yet')
  })
  expect(await page.getByRole('cell', { name: 'API_KEY', exact: true }).count()).toBe(0)
})

test('a new name of the user, and of the organization, appears everywhere without a refetch', async () => {
  await open('/profile/settings')
  await page.getByLabel('Full name').fill('Ann Example')
  await withoutRefetches(async () => {
    await page.locator('form').filter({ hasText: 'Full name' }).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Account of Ann Example' }).waitFor()
  })
  await open('/settings')
  await page.getByLabel('Organization name').fill('Renamed Labs')
  await withoutRefetches(async () => {
    await page.locator('form').filter({ hasText: 'Organization name' }).getByRole('button', { name: 'Save' }).click()
    await page.locator('header').filter({ hasText: 'Organization settings' }).getByText('Renamed Labs').waitFor()
  })
  await page.reload()
  await page.getByRole('button', { name: 'Account of Ann Example' }).waitFor()
  await expect.poll(() => page.getByLabel('Organization name').inputValue()).toBe('Renamed Labs')
})

test('incidents and their updates appear, change and disappear without a refetch', async () => {
  await open('/settings/status-page')
  await waitForText(page, 'No incidents yet')
  const dialog = page.getByRole('dialog')
  await withoutRefetches(async () => {
    await page.getByRole('button', { name: 'New incident' }).click()
    await dialog.getByLabel('Title', { exact: true }).fill('Late blocks')
    await dialog.getByLabel('First update').fill('A node is late.')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('heading', { name: 'Late blocks' }).waitFor()
    await page.getByRole('button', { name: 'Add update' }).click()
    await dialog.getByLabel('Text', { exact: true }).fill('The node is back.')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await waitForText(page, 'The node is back.')
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await waitForText(page, 'No incidents yet')
  })
  await page.reload()
  await waitForText(page, 'No incidents yet')
  expect(await page.getByRole('heading', { name: 'Late blocks' }).count()).toBe(0)
})
