import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureGallery } from '../../../scripts/console-build.ts'
import { openBrowserForScreenshots, axeFlaws } from '../../support/browser.ts'
import { galleryThemes, galleryWidths, openGallery, setAppearance } from '../../support/gallery.ts'
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

test('every part of the gallery is accessible and not wider than the window', async () => {
  const page = await openGallery(browser)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  for (const theme of galleryThemes)
    for (const width of galleryWidths) {
      await setAppearance(page, theme, width)
      // As on other pages: themes differ only in colours, and axe runs at the greatest width, except in `npm run test:full`.
      const rules = theme === 'light' || isFull ? [] : ['color-contrast']
      if (width === galleryWidths[0] || isFull) expect(await axeFlaws(page, ...rules)).toEqual([])
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    }
  expect(errors).toEqual([])
  await page.context().close()
})

test('every part of the gallery looks like its baseline picture', async (context) => {
  const obstacle = comparisonObstacle(browser)
  context.skip(obstacle !== null, obstacle ?? '')
  expect(await pictureDifferences(browser)).toEqual([])
})
