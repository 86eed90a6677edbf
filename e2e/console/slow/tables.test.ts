import type { AlertEvent } from '@shoal/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'table-labs'
const email = 'tara@tables.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await openBrowser()
  const person = await signInAs(browser, shoal, email)
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Table Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await deploySimulated({ ...person, shoal, org: code }, { name: 'transfers', slot: 'v1' })
})

afterAll(async () => {
  await browser?.close()
})

const at = '2026-01-15T12:00:00.000Z'
/** Returns an ended alert. Every third has a reason of several lines. */
const alertOf = (id: number): AlertEvent => ({
  id,
  kind: 'STALLED',
  severity: 'WARNING',
  label: `Alert ${id}`,
  reason: id % 3 === 0 ? 'The processor has not indexed a block for a long time. '.repeat(6) : 'It stalled.',
  squid: null,
  container: null,
  isMuted: false,
  startedAt: at,
  endedAt: at,
})

test('a long list with rows of different heights keeps its height, and moves exactly as far as the user scrolls', async () => {
  // The response is simulated, because this tests only the table.
  await page.route(/\/alerts\?state=ended/, (route) => {
    const before = Number(new URL(route.request().url()).searchParams.get('before') ?? '201')
    return route.fulfill({ json: { payload: Array.from({ length: 50 }, (_, index) => alertOf(before - 1 - index)) } })
  })
  await page.setViewportSize({ width: 1024, height: 800 })
  await page.goto(`/monitoring/alerts/history?organization=${code}`)
  await page.locator('[data-row="200"]').waitFor()
  const heightPx = () => page.evaluate<number>('document.documentElement.scrollHeight')
  const firstHeightPx = await heightPx()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await page.locator('[data-row="151"]').waitFor()
  expect(Math.abs(firstHeightPx / (await heightPx()) - 1)).toBeLessThan(0.1)
  for (const loaded of [100, 150, 200]) {
    await page.getByRole('button', { name: 'Show older' }).press('Enter')
    // The count includes the header.
    await page.locator(`table[aria-rowcount="${loaded + 1}"]`).waitFor()
  }
  await expect.poll(() => page.locator('[data-row]').count()).toBeLessThan(100)
  const topOf = (id: string) => page.locator(`[data-row="${id}"]`).evaluate((row) => row.getBoundingClientRect().top)
  const visibleRow = () =>
    page
      .locator('[data-row]')
      .evaluateAll((rows) => rows.find((row) => row.getBoundingClientRect().top > 300)?.dataset['row'] ?? '')
  await page.evaluate('scrollTo(0, 0)')
  const initialHeightPx = await heightPx()
  const heightsPx: number[] = []
  for (let step = 0; step < 30; step++) {
    const id = await visibleRow()
    const beforePx = await topOf(id)
    await page.mouse.wheel(0, 200)
    // The row must move exactly as far as the user scrolled, so that readers do not lose their place.
    await expect.poll(async () => Math.abs(beforePx - (await topOf(id)) - 200)).toBeLessThan(3)
    heightsPx.push(await heightPx())
  }
  for (const height of heightsPx) expect(Math.abs(height / initialHeightPx - 1)).toBeLessThan(0.1)
})

test('the row menu of the list has all actions of the version, including the rollback', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('button', { name: 'Actions for transfers@v1' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
  const labels = await page.getByRole('menuitem').allInnerTexts()
  const pin = 'Pin squid to the top'
  expect(labels).toEqual([
    'Copy endpoint',
    'Schema and examples',
    'Restart',
    'Redeploy',
    'Hibernate',
    'Roll back…',
    pin,
    'Delete',
  ])
  await page.getByRole('menuitem', { name: 'Roll back…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Roll back transfers@v1' })
  await dialog.getByText('There is no earlier image to roll back to.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
})

test('a click outside of the row menu only closes it, and the button has the focus again', async () => {
  await page.goto(`/squids?organization=${code}`)
  const trigger = page.getByRole('button', { name: 'Actions for transfers@v1' })
  const menu = page.getByRole('menu')
  for (const target of [page.getByRole('link', { name: 'transfers@v1' }).first(), trigger]) {
    await trigger.click()
    await menu.waitFor()
    // Not `target.click()`, which waits until nothing covers the element.
    await target.click({ force: true })
    await menu.waitFor({ state: 'detached' })
    await page.locator('[data-row-menu]:focus').waitFor()
    expect(new URL(page.url()).pathname).toBe('/squids')
  }
})
