import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page

const code = 'remembered'

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'pia@remembered.dev')
  page = person.page
  const deployer = { shoal, org: code, token: person.token, api: person.api }
  await person.api.orgs.create({ body: { code, name: 'Remembered', email: 'pia@remembered.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const processors = { eth: { print: ['a needle', 'a pin'] } }
  const deployments = await Promise.all(
    ['alpha', 'beta', 'gamma'].map((name) => deploySimulated(deployer, { name, slot: 'v1', processors })),
  )
  expect(deployments.map(({ failed }) => failed)).toEqual(['NO', 'NO', 'NO'])
})

afterAll(async () => {
  await browser?.close()
})

const names = () =>
  page
    .getByRole('button', { name: /^Actions for / })
    .evaluateAll((all) => all.map((button) => button.ariaLabel?.replace('Actions for ', '')))

test('pinned squids are at the top of the list in every sort order, even after a reload', async () => {
  await page.goto(`/squids?organization=${code}`)
  await expect.poll(names).toEqual(['alpha@v1', 'beta@v1', 'gamma@v1'])
  await page.getByRole('button', { name: 'Actions for gamma@v1' }).click()
  await page.getByRole('menuitem', { name: 'Pin squid to the top' }).click()
  await expect.poll(names).toEqual(['gamma@v1', 'alpha@v1', 'beta@v1'])
  await page.getByLabel('Pinned').waitFor()
  await page.reload()
  await expect.poll(names).toEqual(['gamma@v1', 'alpha@v1', 'beta@v1'])
  await page.goto(`/squids?organization=${code}&order=desc&sort=name`)
  await expect.poll(names).toEqual(['gamma@v1', 'beta@v1', 'alpha@v1'])
  expect(await accessibilityFlaws(page, 'squids-pinned')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('button', { name: 'Actions for gamma@v1' }).click()
  await page.getByRole('menuitem', { name: 'Unpin squid' }).click()
  await expect.poll(names).toEqual(['gamma@v1', 'beta@v1', 'alpha@v1'])
  await page.goto(`/squids?organization=${code}`)
  await expect.poll(names).toEqual(['alpha@v1', 'beta@v1', 'gamma@v1'])
})

test('saved log filters are available for every version until they are removed', async () => {
  const open = (query = '') => page.goto(`/squids/alpha/v1/logs?organization=${code}${query}`)
  const openMenu = () => page.getByRole('button', { name: 'Saved filters' }).click()
  await open('&container=eth&search=needle')
  await page.getByRole('row').filter({ hasText: 'a needle' }).waitFor()
  await openMenu()
  await page.getByRole('menuitem', { name: 'Save these filters' }).click()
  await page.goto(`/squids/beta/v1/logs?organization=${code}&level=ERROR`)
  await page.getByText('No lines match').waitFor()
  await openMenu()
  expect(await axeFlaws(page)).toEqual([])
  await page.getByRole('menuitem', { name: 'eth · "needle"' }).click()
  await page.getByRole('row').filter({ hasText: 'a needle' }).waitFor()
  const { searchParams } = new URL(page.url())
  expect([searchParams.getAll('container'), searchParams.get('search'), searchParams.get('level')]).toEqual([
    ['eth'],
    'needle',
    null,
  ])
  await openMenu()
  await page.getByRole('menuitem', { name: 'Remove these filters' }).click()
  await openMenu()
  await page.getByRole('menuitem', { name: 'Save these filters' }).waitFor()
  await expect.poll(() => page.getByRole('menuitem', { name: 'eth · "needle"' }).count()).toBe(0)
})
