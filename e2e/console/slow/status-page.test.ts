import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, openBrowser, pageErrors, saveScreenshot, axeFlaws } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type Deployer } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const code = 'harbour-status'
const shoal = consoleShoal()
let browser: Browser
let page: Page
let viewer: Page
let deployer: Deployer

beforeAll(async () => {
  browser = await openBrowser()
  const admin = await signInAs(browser, shoal, 'admin@status.dev')
  const viewerUser = await signInAs(browser, shoal, 'vic@status.dev')
  await admin.api.orgs.create({ body: { code, name: 'Harbour Analytics', email: 'admin@status.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const invitation = { email: 'vic@status.dev', roleType: 'viewer' } as const
  const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: invitation })
  await viewerUser.api.orgs.acceptInvite({ params: { code, id: String(id) } })
  page = admin.page
  viewer = viewerUser.page
  deployer = { shoal, org: code, token: admin.token, api: admin.api }
  await deploySimulated(deployer, { name: 'tides', slot: 'v1', tag: 'prod' })
})

afterAll(() => browser?.close())

const open = (target = page) => target.goto(`/settings/status-page?organization=${code}`)
const publicUrl = (suffix = '') => `${shoal.url}/status/${code}${suffix}`

/** Opens the public page as a visitor without an account, in both themes and at three widths. Returns its flaws, one line each. */
async function visitorFlaws(name: string): Promise<string[]> {
  const flaws: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, bypassCSP: true })
    const visit = await context.newPage()
    for (const width of [390, 1024, 1440]) {
      await visit.setViewportSize({ width, height: 900 })
      await visit.goto(publicUrl())
      await saveScreenshot(visit, `public-status-${name}-${colorScheme}-${width}`)
      const overflowPx = await visit.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (overflowPx > 0) flaws.push(`${overflowPx} px wider than the window of ${width} px`)
      flaws.push(...(await axeFlaws(visit)))
    }
    await context.close()
  }
  return flaws
}

test('an administrator turns the page on, and visitors see the tag under its public name', async () => {
  expect((await fetch(publicUrl())).status).toBe(404)
  await page.goto(`/settings?organization=${code}`)
  await page.getByRole('link', { name: 'Status page', exact: true }).click()
  await page.getByLabel('Publish the status page').check()
  await page.getByLabel('tides:prod', { exact: true }).check()
  await page.getByLabel('Public name of tides:prod').fill('Tides API')
  await page.getByLabel('API down').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The status page is public').waitFor()
  expect(await page.getByRole('link', { name: 'Open page' }).getAttribute('href')).toBe(publicUrl())
  expect(await accessibilityFlaws(page, 'settings-status-page')).toEqual([])

  const visitor = await (await browser.newContext()).newPage()
  await visitor.goto(publicUrl())
  await visitor.getByRole('heading', { name: 'Tides API' }).waitFor()
  expect(await visitor.content()).not.toMatch(/tides|<script/)
  expect(await visitorFlaws('good')).toEqual([])
})

test('a member publishes an incident, updates it and resolves it', async () => {
  await open()
  await page.getByRole('button', { name: 'New incident' }).click()
  const created = page.getByRole('dialog', { name: 'New incident' })
  await created.getByLabel('Title', { exact: true }).fill('Late blocks')
  await created.getByLabel('Tides API').check()
  await created.getByLabel('First update').fill('A node is late.\nWe look into it.')
  expect(await axeFlaws(page)).toEqual([])
  await created.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('heading', { name: 'Late blocks' }).waitFor()
  await until(
    async () => (await (await fetch(publicUrl())).text()).includes('A node is late.'),
    'the public page shows the incident',
  )
  expect(await visitorFlaws('incident')).toEqual([])
  await page.getByRole('button', { name: 'Add update' }).click()
  const updated = page.getByRole('dialog', { name: 'Update Late blocks' })
  await updated.getByLabel('State').selectOption('RESOLVED')
  await updated.getByLabel('Text', { exact: true }).fill('The node is back.')
  await updated.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('The node is back.').waitFor()
  await until(
    async () => (await (await fetch(publicUrl('/feed.xml'))).text()).includes('(resolved)'),
    'the feed contains the resolved incident',
  )
})

test('a viewer sees the settings and cannot change them', async () => {
  await open(viewer)
  await viewer.getByText('Late blocks').waitFor()
  for (const name of ['Save', 'New incident', 'Add update', 'Remove'])
    expect(await viewer.getByRole('button', { name, exact: true }).getAttribute('aria-disabled')).toBe('true')
})

test('the browser reported no errors', () => expect(pageErrors).toEqual([]))
