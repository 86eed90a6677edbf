import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUser, pageErrors, saveScreenshot } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { sitePages } from '../../support/site-blocks.ts'
import { isFull } from '../../support/tier.ts'
import { apiAreas } from '../../../site/.vitepress/generate/areas.ts'
import { operatorPages } from '../../../site/.vitepress/generate/operator-pages.ts'

const shoal = consoleShoal()
/** All handwritten pages, and one of each kind that the build writes; `npm run test:full` includes all of these. */
const paths = [
  ...sitePages().map((file) => file.replace(/(index)?\.md$/, '')),
  ...(isFull ? apiAreas.map(({ name }) => `api/${name}`) : ['api/squids']),
  ...(isFull ? operatorPages.map(({ name }) => `operators/${name}`) : ['operators/operate']),
]

let browser: Browser
beforeAll(async () => {
  browser = await connectToBrowser()
})
afterAll(() => browser?.close())

const open = async (page: Page, path: string) => {
  await page.goto(`/docs/${path}`)
  await page.locator('.vp-doc h1').waitFor()
}

async function search(page: Page, words: string) {
  await page.keyboard.press('Control+k')
  const dialog = page.getByRole('dialog', { name: 'Search' })
  await dialog.getByRole('searchbox').fill(words)
  await dialog.getByRole('option').first().waitFor()
  return dialog
}

const widths = [390, 1024, 1440]
/** `npm run test:full` runs axe at every width and in both themes. Other runs check each page once in full, and once for its colours in the dark theme, because the themes differ only in colours. */
const axeWidths = isFull ? widths : [1440]

describe.each(['light', 'dark'] as const)('the documentation in the %s theme', (theme) => {
  const checkedWidths = theme === 'light' ? widths : axeWidths
  const rules = theme === 'light' || isFull ? {} : { runOnly: ['color-contrast'] }
  test.each(checkedWidths)('is accessible and not wider than a window of %i px', async (width) => {
    const context = await newUser(browser, shoal, { theme })
    const page = await context.newPage()
    await page.setViewportSize({ width, height: 900 })
    const flaws: string[] = []
    const check = async (name: string) => {
      await saveScreenshot(page, `docs-${name.replaceAll('/', '_')}-${theme}-${width}`)
      if (axeWidths.includes(width)) {
        await page.evaluate(axe.source)
        const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(rules)})`)
        flaws.push(...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${name}: ${id} ${html}`)))
      }
      const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (overflowPx > 0) flaws.push(`${name}: ${overflowPx} px wider than the window`)
    }
    for (const path of paths) {
      await open(page, path)
      await check(path)
    }
    await open(page, '')
    await search(page, 'secrets')
    await check('search')
    await context.close()
    expect(flaws).toEqual([])
  })
})

test('the search finds a heading, and its result links to it', async () => {
  const page = await (await newUser(browser, shoal)).newPage()
  await open(page, '')
  const dialog = await search(page, 'lockfile')
  await dialog.getByRole('option', { name: 'Lockfiles' }).click()
  await page.waitForURL(/\/docs\/deploy/)
  expect(new URL(page.url()).hash).toBe('#lockfiles')
  await page.getByRole('heading', { name: 'Lockfiles' }).waitFor()
  await page.context().close()
})

test('in the search, the arrow keys select a result, and Enter opens it', async () => {
  const page = await (await newUser(browser, shoal)).newPage()
  await open(page, '')
  const dialog = await search(page, 'slots and tags')
  expect(await dialog.getByRole('option', { selected: true }).count()).toBe(1)
  const first = await dialog.getByRole('option').first().getAttribute('href')
  await page.keyboard.press('ArrowDown')
  const second = await dialog.getByRole('option', { selected: true }).getAttribute('href')
  expect(second).not.toBe(first)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${shoal.url}${second}`)
  await page.context().close()
})

test('commands contain the address of the installation', async () => {
  const page = await (await newUser(browser, shoal)).newPage()
  await open(page, '')
  await page.locator('pre', { hasText: `${shoal.url}/api` }).waitFor()
  expect(await page.locator('pre', { hasText: 'shoal.example.com' }).count()).toBe(0)
  await page.context().close()
})

test('the browser reported no errors', () => expect(pageErrors).toEqual([]))
