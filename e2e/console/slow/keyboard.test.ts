import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUser } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clickButton, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type Deployer } from '../../support/simulated-squid.ts'

const code = 'keyboard-labs'
const email = 'kim@keyboard.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page
let api: Deployer['api']

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, email)
  ;({ page, api } = person)
  await person.api.orgs.create({ body: { code, name: 'Keyboard Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await deploySimulated({ ...person, shoal, org: code }, { name: 'transfers', slot: 'v1' })
})

afterAll(async () => {
  await browser?.close()
})

const focused = () => page.evaluate<string>('document.activeElement.tagName + ": " + document.activeElement.innerText')
/** Presses keys without waiting for the acknowledgement of each, because the console accepts a sequence only within a second. */
const pressSequence = (...keys: string[]) => Promise.all(keys.map((key) => page.keyboard.press(key)))
const announcement = () => page.locator('#page-announcement').textContent()

test('a page that is opened by keyboard is announced, and its heading has the focus, unless a tab opened the page', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
  expect(await focused()).not.toMatch(/^H1/)
  await expect.poll(() => announcement()).toBe('')
  await page.getByRole('link', { name: 'transfers@v1' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^transfers/, level: 1 }).waitFor()
  await expect.poll(focused).toMatch(/^H1: transfers/)
  await expect.poll(() => announcement()).toBe('General · transfers@v1')
  // A tab that opens a page keeps the focus, so that an arrow key selects the next tab.
  await page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name: 'Deployments' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(announcement).toBe('Deployments · transfers@v1')
  await expect.poll(() => focused()).toBe('A: Deployments')
  await expect.poll(() => page.title()).toBe('Deployments · transfers@v1 · Shoal')
})

test('while the code of a page loads, the page has its heading, in its later place', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('link', { name: 'transfers@v1' }).waitFor()
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/assets/*.js', (route) => isReleased.then(() => route.continue()))
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Secrets' }).click()
  const heading = page.getByRole('heading', { level: 1, name: 'Secrets' })
  await heading.waitFor()
  const placeholder = await heading.boundingBox()
  expect(await page.getByRole('link', { name: 'Add secret' }).count()).toBe(0)
  release()
  await page.getByRole('link', { name: 'Add secret' }).first().waitFor()
  const loaded = await heading.boundingBox()
  expect([loaded?.x, loaded?.y, loaded?.height]).toEqual([placeholder?.x, placeholder?.y, placeholder?.height])
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
  await page.unrouteAll({ behavior: 'wait' })
})

test('a sign-in page that is opened by keyboard is announced, and its heading has the focus', async () => {
  const context = await newUser(browser, shoal)
  const guest = await context.newPage()
  await guest.goto('/')
  const link = guest.getByRole('link', { name: 'Create account' })
  await link.focus()
  await guest.keyboard.press('Enter')
  await guest.getByRole('heading', { level: 1, name: 'Create account' }).waitFor()
  await expect.poll(() => guest.locator('#page-announcement').textContent()).toBe('Create account')
  await expect.poll(() => guest.evaluate<string>('document.activeElement.tagName')).toBe('H1')
  await context.close()
})

test('single-key shortcuts can be turned off; shortcuts with a modifier key keep working', async () => {
  await page.goto(`/profile/settings?organization=${code}`)
  const shortcuts = page.getByRole('switch', { name: 'Single-key shortcuts' })
  await shortcuts.uncheck()
  await page.reload()
  await expect.poll(() => shortcuts.isChecked()).toBe(false)
  await page.getByRole('heading', { name: 'Account settings' }).click()
  await page.keyboard.press('?')
  await pressSequence('g', 's')
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder(/Jump to/).waitFor()
  await expect.poll(() => page.getByRole('dialog', { name: 'Keyboard shortcuts' }).count()).toBe(0)
  expect(new URL(page.url()).pathname).toBe('/profile/settings')
  await page.keyboard.press('Escape')
  await clickButton(page, /^Account of kim/)
  await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
  await waitForText(page, 'Single-key shortcuts are off.')
  await expect.poll(() => page.getByRole('dialog').getByText('Go to Squids').count()).toBe(0)
  await page.keyboard.press('Escape')
  await shortcuts.check()
  await page.getByRole('heading', { name: 'Account settings' }).click()
  await pressSequence('g', 's')
  await page.waitForURL(/\/squids/)
})

test('the command palette lists the actions of the version whose page is open', async () => {
  const openPalette = async () => {
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/Jump to/).waitFor()
  }
  const item = (name: string) => page.getByRole('menuitem', { name, exact: true })
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('link', { name: 'transfers@v1' }).waitFor()
  await openPalette()
  await item('transfers@v1').waitFor()
  expect(await page.getByRole('menuitem', { name: /^Hibernate/ }).count()).toBe(0)
  await item('transfers@v1').click()
  await page.getByRole('heading', { name: /^transfers/, level: 1 }).waitFor()
  await openPalette()
  await item('Hibernate transfers@v1').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Hibernate' }).click()
  await waitForText(page, 'Hibernated')
  await openPalette()
  await item('Restart transfers@v1').waitFor()
  expect(await item('Hibernate transfers@v1').count()).toBe(0)
  await page.keyboard.press('Escape')
})

test('typing in the command palette finds the actions of a version whose page is not open', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('link', { name: 'transfers@v1' }).waitFor()
  const typeInPalette = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/Jump to/).fill(text)
  }
  await typeInPalette('roll')
  await page.getByRole('menuitem', { name: 'Roll back… transfers@v1' }).click()
  const dialog = page.getByRole('dialog', { name: 'Roll back transfers@v1' })
  await dialog.getByText('There is no earlier image to roll back to.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  await typeInPalette('redep')
  await page.getByRole('menuitem', { name: 'Redeploy transfers@v1' }).click()
  await page
    .getByRole('alertdialog', { name: 'Redeploy transfers@v1?' })
    .getByRole('button', { name: 'Redeploy' })
    .click()
  await page.waitForURL(/\/squids\/transfers\/v1\/deployments\/\d+/)
  await waitForText(page, 'SUCCEEDED')
  await expect.poll(() => page.getByRole('heading', { name: /^Deployments.*Redeploy/ }).count()).toBe(1)
})

test('the keyboard help begins with the general shortcuts; "/" and "g e" work, and the command palette shows "g b"', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('link', { name: 'transfers@v1' }).waitFor()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  const shortcuts = () => help.getByRole('term').allTextContents()
  await expect
    .poll(async () => (await shortcuts()).slice(0, 5))
    .toEqual([
      'Jump to a squid, page or action',
      'Keyboard shortcuts',
      'Search on this page',
      'Go to Home',
      'Go to Squids',
    ])
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.keyboard.press('/')
  await expect
    .poll(() => page.getByPlaceholder('Find squid').evaluate((field) => field === field.ownerDocument.activeElement))
    .toBe(true)
  await page.keyboard.press('Escape')
  await page.getByRole('heading', { name: 'Squids', exact: true }).click()
  await pressSequence('g', 'e')
  await page.waitForURL(/\/secrets/)
  await page.keyboard.press('Control+k')
  await page.getByRole('menuitem', { name: /^Billing.*g\s*b$/ }).waitFor()
  await page.keyboard.press('Escape')
})

test('one Escape closes the command palette and discards the typed text; Enter opens the selected page', async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.getByRole('link', { name: 'transfers@v1' }).waitFor()
  const field = page.getByPlaceholder(/Jump to/)
  const openPalette = () => page.keyboard.press('Control+k')
  await openPalette()
  await field.fill('secr')
  await page.getByRole('menuitem', { name: /^Secrets/ }).waitFor()
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
  await openPalette()
  await expect.poll(() => field.inputValue()).toBe('')
  await page.keyboard.type('alerts')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/monitoring\/alerts/)
})

test('each page has its own title', async () => {
  const [deployment] = await api.deployments.list({ params: { code }, query: { limit: '1' } })
  const version = '/squids/transfers/v1'
  const titles = {
    [`${version}/deployments/${deployment?.id}`]: `Deployment #${deployment?.id} · transfers@v1`,
    [`${version}/deployments/${deployment?.id}/changes`]: `Changes of deployment #${deployment?.id} · transfers@v1`,
    [`${version}/playground`]: 'GraphQL playground · transfers@v1',
    [`${version}/schema`]: 'GraphQL schema · transfers@v1',
    '/secrets/edit/NODE_URL': 'Edit value · NODE_URL',
    '/monitoring/alerts': 'Open · Alerts',
    '/monitoring/alerts/history': 'History · Alerts',
    '/monitoring/alerts/rules': 'Rules · Alerts',
    '/monitoring/alerts/channels': 'Channels · Alerts',
    '/monitoring/alerts/deliveries': 'Deliveries · Alerts',
    '/rpc': 'RPC endpoints',
    '/rpc/token': 'API token · RPC endpoints',
  }
  for (const [path, title] of Object.entries(titles)) {
    await page.goto(`${path}?organization=${code}`)
    await expect.poll(() => page.title(), { message: path }).toBe(`${title} · Shoal`)
  }
  // The announcement of a page is its title without " · Shoal".
  await page.getByRole('navigation', { name: 'RPC' }).getByRole('link', { name: 'Endpoints' }).click()
  await expect.poll(() => announcement()).toBe('RPC endpoints')
})
