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
  ...(isFull ? apiAreas.map(({ name }) => `api/${name}`) : ['api/domains']),
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

const themes = ['light', 'dark'] as const
const widths = [1440, 1024, 390]

/** Sets the theme as the page's own script does before the page is drawn. */
const setTheme = (page: Page, theme: (typeof themes)[number]) =>
  page.evaluate(`document.documentElement.classList.toggle('dark', ${theme === 'dark'})
    document.documentElement.dataset.theme = '${theme}'`)

/**
 * Returns the flaws of the current page, one line each: content that is wider than the window, at each width, and flaws that axe finds.
 * Themes differ only in colours, so axe checks the dark theme only for contrast, and at one width. `npm run test:full` runs all rules
 * in both themes at every width.
 */
async function flawsOf(page: Page, name: string): Promise<string[]> {
  const flaws: string[] = []
  await page.evaluate(axe.source)
  for (const theme of themes) {
    await setTheme(page, theme)
    const rules = theme === 'light' || isFull ? {} : { runOnly: ['color-contrast'] }
    for (const width of theme === 'light' || isFull ? widths : widths.slice(0, 1)) {
      await page.setViewportSize({ width, height: 900 })
      await saveScreenshot(page, `docs-${name.replaceAll('/', '_')}-${theme}-${width}`)
      if (width === widths[0] || isFull) {
        const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(rules)})`)
        flaws.push(...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${theme}: ${id} ${html}`)))
      }
      const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (overflowPx > 0) flaws.push(`${theme}: ${overflowPx} px wider than a window of ${width} px`)
    }
  }
  return flaws
}

describe('in both themes and at every width, is accessible and not wider than the window:', () => {
  let page: Page
  beforeAll(async () => {
    page = await (await newUser(browser, shoal)).newPage()
  })
  afterAll(() => page?.context().close())

  test.each(paths)('/docs/%s', async (path) => {
    await page.setViewportSize({ width: widths[0] ?? 0, height: 900 })
    await open(page, path)
    expect(await flawsOf(page, path)).toEqual([])
  })

  test('the search', async () => {
    await page.setViewportSize({ width: widths[0] ?? 0, height: 900 })
    await open(page, '')
    await search(page, 'secrets')
    expect(await flawsOf(page, 'search')).toEqual([])
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
