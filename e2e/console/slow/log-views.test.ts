import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type SimulatedSquid } from '../../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page

const code = 'log-views'
const longText = `start ${'of a long line '.repeat(60)}end`
const squid: SimulatedSquid = {
  name: 'wordy',
  slot: 'v1',
  processors: {
    eth: {
      print: [
        ...Array.from({ length: 120 }, (_, i) => `line ${i}`),
        longText,
        'first of three\nsecond of three\nthird of three',
        ...Array.from({ length: 20 }, (_, i) => `${i}: ${longText}`),
        'the last one',
      ],
    },
  },
}

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'nora@log-views.dev')
  page = person.page
  const deployer = { shoal, org: code, token: person.token, api: person.api }
  await person.api.orgs.create({ body: { code, name: 'Log views', email: 'nora@log-views.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const first = await deploySimulated(deployer, { ...squid, build: { prints: ['compiled with needle one'] } })
  const fails = { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'npm run build ended with exit code 2.' }
  const second = await deploySimulated(deployer, { ...squid, build: { prints: ['compiled with two'], fails } })
  expect([first.failed, second.failed]).toEqual(['NO', 'SOURCE_FILES_BUILD_FAILED'])
})

afterAll(async () => {
  await browser?.close()
})

const open = (query = '') => page.goto(`/squids/wordy/v1/logs?organization=${code}${query}`)
const row = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text })
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
const parameters = () => new URL(page.url()).searchParams
const pick = async (list: string, option: string | RegExp) => {
  await page.getByRole('button', { name: new RegExp(`${list}$`) }).click()
  await page.getByRole('option', { name: option }).click()
  await page.keyboard.press('Escape')
}
const scroller = () => page.locator('[aria-label="Lines"]')
const fromEndPx = () => scroller().evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop)
const heightOf = async (text: string | RegExp) => (await row(text).first().boundingBox())?.height ?? 0

test('wrapped lines are shown in full, are still wrapped after a reload, and never overlap', async () => {
  await open()
  await row('the last one').waitFor()
  await expect.poll(() => heightOf('19: start')).toBe(22)
  await button('Wrap lines').click()
  await expect.poll(() => heightOf('19: start')).toBeGreaterThan(60)
  await expect.poll(fromEndPx).toBeLessThan(5)
  await page.reload()
  await row('the last one').waitFor()
  await expect.poll(() => heightOf('19: start')).toBeGreaterThan(60)
  await expect.poll(fromEndPx).toBeLessThan(5)

  await scroller().hover()
  for (let step = 0; step < 12; step++) {
    await page.mouse.wheel(0, -200)
    await expect.poll(() => overlappingRows()).toEqual([])
  }
  await page.getByLabel('Search logs').fill('of three')
  await row('third of three').waitFor()
  await expect.poll(() => heightOf('third of three')).toBeGreaterThanOrEqual(66)
  await button('Wrap lines').click()
  await expect.poll(() => heightOf('first of three')).toBe(22)
})

/** Describes each row that does not begin where the previous row ends. */
const overlappingRows = () =>
  page.getByRole('row').evaluateAll((all) =>
    all.slice(2).flatMap((element, index) => {
      const gapPx = element.getBoundingClientRect().top - (all[index + 1]?.getBoundingClientRect().bottom ?? 0)
      return Math.abs(gapPx) > 0.5 ? [`${gapPx} px before ${element.textContent?.slice(0, 40)}`] : []
    }),
  )

test('times are in the time zone of the user or in UTC', async () => {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kolkata' })
  await open('&from=2026-01-05T00:00:00.000Z&search=the+last')
  await row('the last one').waitFor()
  const time = row('the last one').locator('time')
  const at = new Date((await time.getAttribute('datetime')) ?? '')
  const timeOfDay = (ms: number) => new Date(ms).toISOString().slice(11, 23)
  const local = timeOfDay(at.getTime() + 5.5 * 3_600_000)
  await expect.poll(() => time.textContent()).toContain(local)
  await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-01-05T05:30')
  await button('UTC').click()
  await expect.poll(() => time.textContent()).toContain(timeOfDay(at.getTime()))
  await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-01-05T00:00')
  await page.getByLabel('From', { exact: true }).fill('2026-01-06T00:00:00')
  await page.keyboard.press('Enter')
  await expect.poll(() => parameters().get('from')).toBe('2026-01-06T00:00:00.000Z')
  await page.getByRole('columnheader', { name: 'Timestamp, UTC' }).waitFor()
  await button('UTC').click()
  await expect.poll(() => time.textContent()).toContain(local)
})

test('levels and search select lines of any build', async () => {
  await open('&container=@build')
  await waitForText(page, 'compiled with two')
  await pick('Deployment', /#\d+ · [\d. :]+$/)
  await waitForText(page, 'compiled with needle one')
  await expect.poll(() => page.getByText('compiled with two').count()).toBe(0)
  expect(parameters().get('build')).toMatch(/^\d+$/)
  await page.getByLabel('Search logs').fill('NEEDLE')
  await page.locator('mark', { hasText: 'needle' }).waitFor()
  await waitForText(page, /^1 of \d+ lines$/)
  await page.reload()
  await page.locator('mark', { hasText: 'needle' }).waitFor()
  expect(await accessibilityFlaws(page, 'log-of-build')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByLabel('Search logs').fill('')
  await pick('Deployment', /failed$/)
  await pick('Levels', 'Error')
  await waitForText(page, /^\d of \d+ lines$/)
  await expect.poll(() => page.getByText('compiled with two').count()).toBe(0)
  await waitForText(page, 'npm run build ended with exit code 2.')
})

test('the filter of containers selects the lines of init, or the build instead of all containers', async () => {
  await open()
  await row('the last one').waitFor()
  await pick('Containers', 'init')
  await row('No migrations are pending').waitFor()
  await expect.poll(() => row('the last one').count()).toBe(0)
  expect(parameters().getAll('container')).toEqual(['init'])
  await pick('Containers', 'Build')
  await waitForText(page, 'compiled with two')
  expect(parameters().getAll('container')).toEqual(['@build'])
  await expect.poll(() => row('No migrations are pending').count()).toBe(0)
  await pick('Containers', 'init')
  await row('No migrations are pending').waitFor()
  expect(parameters().getAll('container')).toEqual(['init'])
})

test('wrapped lines are accessible', async () => {
  await open('&search=long')
  await row('19: start').waitFor()
  await button('Wrap lines').click()
  await expect.poll(() => heightOf('19: start')).toBeGreaterThan(60)
  expect(await accessibilityFlaws(page, 'logs-wrapped')).toEqual([])
  await button('UTC').click()
  expect(await axeFlaws(page)).toEqual([])
})
