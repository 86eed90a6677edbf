import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { galleryFolder } from '../../scripts/console-build.ts'
import { switchTheme } from './browser.ts'

/** Widths of a window and of a phone, in pixels. */
export const galleryWidths = [1024, 390] as const
export const galleryThemes = ['light', 'dark'] as const

const origin = 'http://gallery.test'
/** The height of the window. The gallery is shorter than this, so all its charts are drawn without scrolling. */
const windowHeightPx = 12_000
/** The height of the window while an overlay is open. */
const overlayWindowHeightPx = 640

/** Opens the built gallery with a fixed current time, and waits until its files and fonts are loaded. */
export async function openGallery(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
    viewport: { width: galleryWidths[0], height: windowHeightPx },
  })
  context.setDefaultTimeout(60_000)
  await context.route(`${origin}/**`, (route) =>
    route.fulfill({ path: join(galleryFolder, new URL(route.request().url()).pathname) }),
  )
  const page = await context.newPage()
  await page.clock.setFixedTime('2026-09-02T12:00:00Z')
  await page.goto(`${origin}/gallery.html`)
  await page.locator('[data-section]').first().waitFor()
  await page.waitForLoadState('networkidle')
  await page.evaluate('document.fonts.ready')
  await loadFonts(page)
  return page
}

/** Waits until all fonts are loaded. Chromium may reject fonts with which a route responds while the page loads, and requests them again when the layout changes. */
async function loadFonts(page: Page): Promise<void> {
  const areLoaded = "[...document.fonts].every(({ status }) => status === 'loaded')"
  if (await page.evaluate<boolean>(areLoaded)) return
  await page.setViewportSize({ width: galleryWidths[1], height: windowHeightPx })
  await page.waitForFunction(areLoaded)
  await page.setViewportSize({ width: galleryWidths[0], height: windowHeightPx })
}

/** Sets the theme and width of the gallery. */
export async function setAppearance(page: Page, theme: (typeof galleryThemes)[number], width: number): Promise<void> {
  await page.setViewportSize({ width, height: windowHeightPx })
  await switchTheme(page, theme)
}

/** A section or an overlay of which a picture can be taken. `show` makes it visible, and returns its element. */
export type Subject = { name: string; show: () => Promise<Locator>; hide: () => Promise<unknown> }

/** Returns the sections of the gallery. */
export async function sectionsOf(page: Page): Promise<Subject[]> {
  const sections = await page.locator('[data-section]').all()
  const names = await Promise.all(sections.map((section) => section.getAttribute('data-section')))
  return sections.map((section, index) => ({
    name: names[index] ?? '',
    show: () => Promise.resolve(section),
    hide: () => Promise.resolve(),
  }))
}

/** Returns the overlays of the gallery, such as its dialogs and menus. */
export const overlaysOf = (page: Page): Subject[] => overlays.map((overlay) => overlaySubject(page, overlay))

/** The name of each overlay in its pictures, the name of the button that opens it, and its ARIA role. */
const overlays = [
  ['dialog', 'Dialog', 'dialog'],
  ['sheet', 'Sheet', 'dialog'],
  ['popover', 'Popover', 'dialog'],
  ['commands', 'Commands', 'dialog'],
  ['menu', 'Menu', 'menu'],
  ['confirmation', 'Confirm by name', 'alertdialog'],
  ['toast', 'Toast: bad', 'alertdialog'],
] as const

type Overlay = (typeof overlays)[number]

function overlaySubject(page: Page, [name, button, role]: Overlay): Subject {
  const overlay = page.getByRole(role)
  const resize = (height: number) => page.setViewportSize({ width: page.viewportSize()?.width ?? 0, height })
  return {
    name,
    show: async () => {
      await resize(overlayWindowHeightPx)
      await page.getByRole('button', { name: button, exact: true }).click()
      await overlay.waitFor()
      return overlay
    },
    hide: async () => {
      if (name === 'toast') await overlay.getByRole('button', { name: 'Close' }).click()
      else await page.keyboard.press('Escape')
      await overlay.waitFor({ state: 'detached' })
      await resize(windowHeightPx)
    },
  }
}
