import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureGallery } from '../../../scripts/console-build.ts'
import { openBrowserForScreenshots, axeFlaws } from '../../support/browser.ts'
import { galleryThemes, galleryWidths, openGallery, overlaysOf, setAppearance } from '../../support/gallery.ts'
import { comparisonObstacle, pictureDifferences } from '../../support/pictures.ts'
import { isFull } from '../../support/tier.ts'

let browser: Browser

beforeAll(async () => {
  await ensureGallery()
  browser = await openBrowserForScreenshots()
})

afterAll(async () => {
  await browser?.close()
})

/** Runs axe as on other pages: themes differ only in colours, and axe runs at the greatest width, except in `npm run test:full`. */
function flawsOf(page: Page, theme: (typeof galleryThemes)[number], width: number): Promise<string[]> {
  const rules = theme === 'light' || isFull ? [] : ['color-contrast']
  return width === galleryWidths[0] || isFull ? axeFlaws(page, ...rules) : Promise.resolve([])
}

test('every part of the gallery is accessible and not wider than the window', async () => {
  const page = await openGallery(browser)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  for (const theme of galleryThemes)
    for (const width of galleryWidths) {
      await setAppearance(page, theme, width)
      expect(await flawsOf(page, theme, width)).toEqual([])
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    }
  expect(errors).toEqual([])
  await page.context().close()
})

test('every overlay of the gallery is accessible while it is open, and not wider than the window', async () => {
  const page = await openGallery(browser)
  for (const theme of galleryThemes)
    for (const width of galleryWidths) {
      await setAppearance(page, theme, width)
      for (const { name, show, hide } of overlaysOf(page)) {
        await show()
        expect(await flawsOf(page, theme, width), `${name}, ${theme}, ${width} px`).toEqual([])
        expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
        await hide()
      }
    }
  await page.context().close()
})

test('every part of the gallery looks like its baseline picture', async (context) => {
  const obstacle = comparisonObstacle(browser)
  context.skip(obstacle !== null, obstacle ?? '')
  expect(await pictureDifferences(browser)).toEqual([])
})
