import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { text } from 'node:stream/consumers'
import { accessibilityFlaws, axeFlaws } from '../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../support/console-shoal.ts'
import { clipboard, waitForText, waitForExactText } from '../support/page.ts'
import { signInAs } from '../support/people.ts'
import { deploySimulated, type Deployer, type SimulatedSquid } from '../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer

const code = 'logs-labs'
const json = (line: object) => JSON.stringify(line)
const progress = (n: number) => json({ level: 2, ns: 'sqd:processor', msg: `${n} / 5000, rate: 2 blocks/sec` })

/** A squid that prints a long log at its start, and then a line every 300 ms. */
const logging: SimulatedSquid = {
  name: 'logging',
  slot: 'v1',
  processors: {
    eth: {
      print: Array.from({ length: 350 }, (_, i) => progress(i)),
      periodicOutput: { everyMs: 300, text: 'tick {n}' },
    },
    base: {
      print: [
        json({ level: 3, ns: 'sqd:rpc', msg: 'rate limited', url: 'https://rpc.example.com', retryMs: 500 }),
        '\u001b[32mready\u001b[0m in \u001b[1m41 ms\u001b[22m',
        'QueryFailedError: statement timeout',
        '    at run (/app/lib/main.js:10:5)',
        json({ level: 1, msg: 'a needle in the hay' }),
      ],
    },
  },
}
/** A squid that prints nothing after its start. */
const silent: SimulatedSquid = {
  name: 'silent',
  slot: 'v1',
  processors: { eth: { print: Array.from({ length: 250 }, (_, i) => progress(i)) } },
}

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'mira@logs.dev')
  page = person.page
  deployer = { shoal, org: code, token: person.token, api: person.api }
  await deployer.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@logs.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const deployments = await Promise.all([deploySimulated(deployer, logging), deploySimulated(deployer, silent)])
  expect(deployments.map(({ failed }) => failed)).toEqual(['NO', 'NO'])
})

afterAll(async () => {
  await browser?.close()
})

const open = (reference: string, query = '') =>
  page.goto(`/squids/${reference.replace('@', '/')}/logs?organization=${code}${query}`)
const row = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text })
const button = (name: string | RegExp) => page.getByRole('button', { name })
const parameters = () => new URL(page.url()).searchParams
const pick = async (list: string, option: string) => {
  await button(new RegExp(`${list}$`)).click()
  await page.getByRole('option', { name: option, exact: true }).click()
  await page.keyboard.press('Escape')
}
const scroller = () => page.locator('[aria-label="Lines"]')
const scrollTo = (px: number) => scroller().evaluate((box, top) => (box.scrollTop = top), px)
const rowCount = async () => Number(await page.getByRole('table', { name: 'Log lines' }).getAttribute('aria-rowcount'))

test('the view opens at the newest lines and follows the log', async () => {
  await open('logging@v1')
  await waitForExactText(page, 'Live')
  const lastTick = async () =>
    Number(
      /tick (\d+)/.exec(
        (await row(/tick \d+/)
          .last()
          .textContent()) ?? '',
      )?.[1],
    )
  await row(/tick \d+/)
    .last()
    .waitFor()
  const initialTick = await lastTick()
  await expect.poll(lastTick).toBeGreaterThan(initialTick + 2)
  await expect
    .poll(() => scroller().evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop))
    // The distance from the end is at most one row, which is 22 px high.
    .toBeLessThan(23)
})

test('scrolling up pauses the log, loads older lines, and counts new ones', async () => {
  await open('logging@v1')
  await waitForExactText(page, 'Live')
  await scroller().hover()
  await page.mouse.wheel(0, -600)
  await waitForText(page, 'Paused')
  await button(/\d+ new lines/).waitFor()
  // Scrolling to the top loads the next page of older lines.
  await expect.poll(async () => (await scrollTo(0), row(/ 0 \/ 5000/).count())).toBe(1)
  await expect.poll(() => rowCount()).toBeGreaterThan(350)
  await button(/\d+ new lines/).click()
  await waitForExactText(page, 'Live')
  await row(/tick \d+/)
    .last()
    .waitFor()

  await button('Pause').click()
  await waitForText(page, 'Paused')
  await button(/\d+ new lines?/).waitFor()
  await button('Resume').click()
  await waitForExactText(page, 'Live')
})

test('the order can be reversed', async () => {
  await open('silent@v1')
  await row(' 249 / 5000').waitFor()
  await button('Timestamp').click()
  expect(parameters().get('order')).toBe('desc')
  await expect.poll(() => page.getByRole('row').nth(1).textContent()).toMatch(/listening|249 \/ 5000/)
  await page.getByRole('columnheader', { name: 'Timestamp' }).and(page.locator('[aria-sort=descending]')).waitFor()
  await expect.poll(async () => (await scrollTo(1e6), rowCount())).toBeGreaterThan(250)
  await row('No migrations are pending').waitFor()
})

test('filters select the matching lines, and are in the URL', async () => {
  await open('logging@v1')
  await pick('Containers', 'base')
  await row('rate limited').waitFor()
  await expect.poll(() => row('blocks/sec').count()).toBe(0)
  await pick('Levels', 'Warning')
  await expect.poll(rowCount).toBe(2)
  expect(parameters().getAll('container')).toEqual(['base'])
  expect(parameters().getAll('level')).toEqual(['WARNING'])
  await pick('Levels', 'Warning')
  const searchRequest = page.waitForRequest((request) => request.url().includes('search=NEEDLE'))
  const typedMs = performance.now()
  await page.getByLabel('Search logs').fill('NEEDLE')
  await searchRequest
  // Spec 9: the console searches half a second after the last keystroke.
  expect(performance.now() - typedMs).toBeGreaterThanOrEqual(500)
  await page.locator('mark', { hasText: 'needle' }).waitFor()
  expect(parameters().get('search')).toBe('NEEDLE')
  await page.reload()
  await page.locator('mark', { hasText: 'needle' }).waitFor()
  await expect.poll(rowCount).toBe(2)
  await page.getByLabel('Search logs').fill('nowhere to be found')
  await waitForText(page, 'No lines match')
  await button('Clear filters').click()
  await row(/tick/).last().waitFor()
  await pick('Time range', 'Last hour')
  expect(parameters().get('range')).toBe('1h')
  await row(/tick/).last().waitFor()
  await pick('Time range', 'From … to …')
  await page.getByLabel('From', { exact: true }).fill('2001-01-01T00:00:00')
  await page.getByLabel('To', { exact: true }).fill('2001-01-02T00:00:00')
  await page.keyboard.press('Enter')
  await waitForText(page, 'No log lines')
})

test('a line can be expanded, copied and linked to', async () => {
  await open('logging@v1', '&container=base')
  await row('ready in 41 ms').waitFor()
  const line = row('rate limited')
  await line.getByRole('button', { name: /^Whole line/ }).click()
  await line.getByLabel('Whole line', { exact: true }).getByText('"retryMs": 500').waitFor()
  await line.getByRole('button', { name: 'Copy line' }).last().click()
  await expect
    .poll(() => clipboard(page))
    .toMatch(/^\S+Z WARNING base sqd:rpc rate limited \{"url":"https:.*"retryMs":500\}$/)
  await row('statement timeout').getByText('2 lines').waitFor()

  await open('logging@v1', '&search=+7+/+5000')
  await row('sqd:processor 7 / 5000').hover()
  await row('sqd:processor 7 / 5000').getByRole('button', { name: 'Copy link to line' }).click()
  await expect
    .poll(() => clipboard(page))
    .toMatch(/\/squids\/logging\/v1\/logs\?organization=logs-labs&search=.*&line=\d+$/)
  await page.goto(await clipboard(page))
  await row('sqd:processor 7 / 5000').waitFor()
  expect(parameters().get('search')).toBe(' 7 / 5000')
  await expect.poll(() => row('sqd:processor 8 / 5000').count()).toBe(0)
  await row('sqd:processor 7 / 5000')
    .getByRole('button', { name: /^Whole line/ })
    .click()
  await button('Show surrounding lines').click()
  await row('sqd:processor 8 / 5000').waitFor()
  await expect
    .poll(() => row('sqd:processor 7 / 5000').evaluate((element) => element.className))
    .toContain('border-accent')
  await button('Newest lines').click()
  await waitForExactText(page, 'Live')
  await open('logging@v1', '&line=99999999')
  await waitForText(page, 'Log line not found')
})

test('the download contains the lines that match the filters', async () => {
  await open('logging@v1', '&container=base&level=DEBUG')
  await row('needle').waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), button('Download').click()])
  expect(file.suggestedFilename()).toBe('logging@v1.log')
  expect(await text(await file.createReadStream())).toMatch(/^\S+Z DEBUG base a needle in the hay\n$/)
})

test('after an interruption, the stream resumes without losing a line', async () => {
  const interrupted: string[] = []
  await page.route(/logs\/follow/, (route) => {
    if (interrupted.length === 2) return route.continue()
    interrupted.push(route.request().url())
    return interrupted.length === 1 ? route.abort('connectionreset') : route.fulfill({ body: '\n' })
  })
  await open('logging@v1')
  await waitForText(page, 'Reconnecting')
  await waitForExactText(page, 'Live')
  expect(interrupted).toHaveLength(2)
  await page.unroute(/logs\/follow/)
  const ticks = async () =>
    (await row(/tick \d+/).allTextContents()).map((text) => Number(/tick (\d+)/.exec(text)?.[1]))
  const [first = 0, ...more] = await ticks()
  expect(more.length).toBeGreaterThan(5)
  expect(more).toEqual(more.map((_, i) => first + i + 1))
})

test('the GraphQL playground can query a version whose CORS rules do not allow the console', async () => {
  await page.goto(`/squids/logging/v1/playground?organization=${code}`)
  // The api containers of the sim driver send no CORS headers.
  await waitForText(page, 'so Shoal forwards your queries')
  await page.locator('.monaco-editor').first().waitFor()
  await button(/^Execute query/).click()
  await page.locator('.result-window').getByText('"__typename"').waitFor()
  expect(await accessibilityFlaws(page, 'playground')).toEqual([])
})

test('the Logs tab is accessible in both themes and at every width', async () => {
  await open('logging@v1', '&search=sqd')
  await row('rate limited').waitFor()
  await row('rate limited')
    .getByRole('button', { name: /^Whole line/ })
    .click()
  expect(await axeFlaws(page)).toEqual([])
  await button(/Levels$/).click()
  await page.getByRole('option', { name: 'Critical' }).waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await page.keyboard.press('Escape')
  expect(await accessibilityFlaws(page, 'logs')).toEqual([])
  await expect
    .poll(() => page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name: 'Logs' }).isVisible())
    .toBe(true)
  await page.setViewportSize({ width: 400, height: 900 })
  await expect.poll(() => page.getByRole('navigation', { name: 'Version' }).getByText('Logs').isVisible()).toBe(false)
})
