import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, saveScreenshot } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { holdBuild } from '../../support/hold-build.ts'
import { waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, requestSimulatedDeploy, type Deployer } from '../../support/simulated-squid.ts'

const code = 'phone-labs'
const email = 'pia@phones.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, email)
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Phone Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  deployer = { ...person, shoal, org: code }
  const message = JSON.stringify({ level: 2, ns: 'sqd:processor', msg: '1200 / 5000, rate: 2 blocks/sec, mapping: 24' })
  const { failed } = await deploySimulated(deployer, {
    name: 'transfers',
    slot: 'slot',
    tag: 'production',
    processors: {
      eth: {
        sync: { fromBlock: 0, headBlock: 1_000_000, headBlocksPerSecond: 0.1, blocksPerSecond: 50 },
        print: [message],
      },
    },
  })
  expect(failed).toBe('NO')
})

afterAll(async () => {
  await browser?.close()
})

const setWidth = (width: number) => page.setViewportSize({ width, height: 844 })
const open = (path: string) => page.goto(`${path}?organization=${code}`)
const row = (reference: string) => page.locator(`[data-row="${reference}"]`)
async function boxOf(locator: Locator) {
  const box = await locator.boundingBox()
  if (!box) throw new Error('The element is not visible')
  return { ...box, right: box.x + box.width, bottom: box.y + box.height }
}

test('the list shows the sync progress at every width and clips no tag; in narrow windows it hides the requests', async () => {
  await setWidth(1440)
  await open('/squids')
  const sync = row('transfers@slot')
    .getByText(/^\d+\.\d\d% · .* left$/)
    .filter({ visible: true })
  const requests = page.getByRole('columnheader', { name: 'Last 7d Req.' })
  for (const [width, hasRequests] of [
    [1440, true],
    [1024, false],
    [800, false],
    [390, false],
  ] as const) {
    await setWidth(width)
    await sync.waitFor()
    await expect.poll(() => sync.count(), { message: `${width} px` }).toBe(1)
    await expect.poll(() => requests.isVisible(), { message: `${width} px` }).toBe(hasRequests)
    await saveScreenshot(page, `list-${width}`)
  }
  // The number of elements decides how fast the browser draws long lists. Each tag is one element.
  const tags = await row('transfers@slot').locator('span[title]').count()
  expect((await row('transfers@slot').locator('*').count()) + 1 - tags).toBeLessThanOrEqual(21)
  // A clipped tag would make the content wider than its cell.
  const name = row('transfers@slot').getByRole('cell').first()
  await expect.poll(() => name.evaluate((cell) => cell.scrollWidth - cell.clientWidth)).toBeLessThanOrEqual(0)
  // The status and the progress below it; a wrapped tag would add a line.
  expect((await boxOf(row('transfers@slot'))).height).toBeLessThanOrEqual(49)
})

test('while a version is being deployed, the list shows the step and its time', async () => {
  await setWidth(1024)
  const { whileExists, end } = holdBuild()
  await requestSimulatedDeploy(deployer, { name: 'lending', slot: 'v1', build: { whileExists } })
  await open('/squids')
  const step = row('lending@v1')
    .getByText(/^Building/)
    .filter({ visible: true })
  await expect.poll(() => step.innerText(), { timeout: 30_000 }).toMatch(/^Building · \d+ s$/)
  await saveScreenshot(page, 'list-deploying')
  end()
  await step.waitFor({ state: 'detached', timeout: 60_000 })
})

test('on a phone, the message of a log line is below its time, level and container', async () => {
  await setWidth(390)
  await open('/squids/transfers/slot/logs')
  const line = page
    .getByRole('row')
    .filter({ hasText: /rate: 2 blocks/ })
    .last()
  await line.waitFor()
  // Measured in one step, because the log scrolls when it receives lines.
  const boxesOfCells = () =>
    line.evaluate((element) =>
      [...element.querySelectorAll('[role=cell]')].map((cell) => {
        const { top, bottom, width } = cell.getBoundingClientRect()
        return { top, bottom, width }
      }),
    )
  const [time, level, container, message] = await boxesOfCells()
  expect(time?.top).toBe(level?.top)
  expect(level?.top).toBe(container?.top)
  expect(message?.top).toBeGreaterThanOrEqual(time?.bottom ?? Infinity)
  expect(message?.width).toBeGreaterThan(300)
  await saveScreenshot(page, 'logs-390')
  await line.getByRole('button', { name: /^Whole line/ }).click()
  await line.getByLabel('Whole line', { exact: true }).waitFor()
  const boxes = await boxesOfCells()
  expect(boxes.at(-1)?.top).toBeGreaterThanOrEqual(boxes[3]?.bottom ?? Infinity)
  await page.setViewportSize({ width: 1024, height: 844 })
  await expect.poll(async () => (await boxOf(line)).height).toBeGreaterThan(22)
})

/** Code that returns the smallest distance in pixels between the text of a cell and the edges of its row. It runs in the browser. */
const minDistance = `(() => {
  const distances = []
  const texts = document.createTreeWalker(document.querySelector('main tbody'), NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const range = document.createRange()
    range.selectNode(texts.currentNode)
    const [text, row] = [range, texts.currentNode.parentElement.closest('tr')].map((part) => part.getBoundingClientRect())
    if (text.height > 0) distances.push(text.top - row.top, row.bottom - text.bottom)
  }
  return Math.min(...distances)
})()`

test('on a phone, wrapped roles of members and types of costs do not touch the edges of their rows', async () => {
  await deployer.api.orgs.inviteMember({ params: { code }, body: { email: 'dev@phones.dev', roleType: 'developer' } })
  await setWidth(390)
  for (const [path, shows] of [
    ['/settings', 'Invited'],
    ['/billing/usage', 'Postgres SSD storage (GB per hour)'],
  ] as const) {
    await open(path)
    await page.getByText(shows, { exact: true }).waitFor()
    await expect.poll(() => page.evaluate<number>(minDistance), { message: path }).toBeGreaterThanOrEqual(6)
  }
})

test('on a phone, the action of an alert is below its text', async () => {
  await setWidth(390)
  await open('/settings')
  await page.getByLabel('Email', { exact: true }).fill('alerts@phones.dev')
  await page.locator('section').filter({ hasText: 'Notification email' }).getByRole('button', { name: 'Save' }).click()
  const action = page.getByRole('button', { name: 'Resend verification' })
  await action.waitFor()
  const text = action.locator('xpath=ancestor::*[@role="status" or @role="alert"][1]')
  const box = await boxOf(text)
  expect((await boxOf(action)).x).toBeLessThan(box.x + box.width / 3)
  await saveScreenshot(page, 'settings-390')
})

test('the pages of a version are accessible at every width', async () => {
  await setWidth(1440)
  const flaws: string[] = []
  for (const [name, path, text] of [
    ['version', '/squids/transfers/slot', 'Canonical URL'],
    ['metrics', '/squids/transfers/slot/metrics', /^since creation/],
  ] as const) {
    await open(path)
    await waitForText(page, text)
    flaws.push(...(await accessibilityFlaws(page, `small-${name}`)))
  }
  expect(flaws).toEqual([])
})

test('with forced colours, status dots and switches show their state', async () => {
  await setWidth(1024)
  await page.emulateMedia({ forcedColors: 'active' })
  await open('/squids')
  const colorOf = (locator: Locator) =>
    locator.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).backgroundColor)
  const dot = row('transfers@slot').locator('.status-dot > span').first()
  await dot.waitFor()
  expect(await colorOf(dot)).not.toBe(await colorOf(page.locator('body')))
  await open('/profile/settings')
  const shortcuts = page.getByRole('switch', { name: 'Single-key shortcuts' })
  const colorWhenOn = await colorOf(shortcuts)
  await shortcuts.uncheck()
  await expect.poll(() => colorOf(shortcuts)).not.toBe(colorWhenOn)
  await shortcuts.check()
  await page.emulateMedia({ forcedColors: null })
})

test('with forced colours, the current tab, the current page, pressed filters and the focused item of a menu differ from the others', async () => {
  await setWidth(1024)
  await page.emulateMedia({ forcedColors: 'active' })
  const colorsOf = (locator: Locator) =>
    locator.evaluate((element) => {
      const style = element.ownerDocument.defaultView?.getComputedStyle(element)
      return [style?.backgroundColor, style?.color]
    })
  const differ = async (one: Locator, other: Locator) => {
    await one.waitFor()
    await expect.poll(async () => String(await colorsOf(one)) !== String(await colorsOf(other))).toBe(true)
  }
  await open('/squids/transfers/slot/deployments')
  const tabs = page.getByRole('navigation', { name: 'Version' })
  await differ(tabs.locator('[aria-current=page]'), tabs.getByRole('link', { name: 'Manifest' }))
  await open('/squids')
  const navigation = page.getByRole('navigation', { name: 'Main' })
  await differ(navigation.locator('[aria-current=page]'), navigation.getByRole('link', { name: 'Monitoring' }))
  await row('transfers@slot').locator('[data-row-menu]').focus()
  await page.keyboard.press('Enter')
  const items = page.getByRole('menuitem')
  await differ(page.locator('[role=menuitem][data-focused]'), items.last())
  await page.keyboard.press('Escape')
  await page.emulateMedia({ forcedColors: null })
})

test('dialogs and menus fade in, except for users who prefer reduced motion', async () => {
  await setWidth(1024)
  /** The longest transition of an element and the elements around it, in milliseconds. */
  const transitionMs = async (role: 'menu' | 'dialog' | 'alertdialog') => {
    await page.getByRole(role).waitFor()
    const durations = await page.evaluate<string[]>(`(() => {
      const durations = []
      for (let element = document.querySelector('[role=${role}]'); element; element = element.parentElement)
        durations.push(...getComputedStyle(element).transitionDuration.split(', '))
      return durations
    })()`)
    return Math.max(...durations.map((duration) => parseFloat(duration) * 1000))
  }
  const transitions = async (reducedMotion: 'reduce' | 'no-preference') => {
    await page.emulateMedia({ reducedMotion })
    await open('/squids')
    await row('transfers@slot').locator('[data-row-menu]').click()
    const menu = await transitionMs('menu')
    await page.getByRole('menuitem', { name: 'Hibernate' }).click()
    const confirmation = await transitionMs('alertdialog')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    return [menu, confirmation, await transitionMs('dialog')]
  }
  for (const durationMs of await transitions('no-preference')) expect(durationMs).toBeGreaterThanOrEqual(100)
  for (const durationMs of await transitions('reduce')) expect(durationMs).toBeLessThan(1000 / 60)
})

test('at a zoom of 200 %, and with a right-to-left name, tables are not wider than the window', async () => {
  const { api, org } = deployer
  await api.user.update({ body: { fullName: 'שירה כהן (ניתוח) 2026' } })
  const secret = { name: 'RPC_KEY', value: 'a value', action: 'UPDATE' as const }
  await api.secrets.change({ params: { code: org }, body: { secrets: [secret] } })
  await api.user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  // A zoom of 200 % halves the window's width in CSS pixels.
  await setWidth(720)
  for (const [path, text] of [
    ['/squids', 'production'],
    ['/settings', 'Members'],
    ['/squids/transfers/slot/deployments', 'שירה'],
    ['/squids/transfers/slot/processors', 'processor'],
    ['/secrets', 'RPC_KEY'],
    ['/monitoring/alerts/rules', 'Crash loop'],
    ['/profile/api-tokens', 'laptop'],
    ['/billing/usage', 'Usage'],
  ] as const) {
    await open(path)
    await waitForText(page, text)
    await expect
      .poll(() => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), { message: path })
      .toBe(0)
    await saveScreenshot(page, `rtl-${path.split('/').at(-1)}`)
  }
})
