import axe from 'axe-core'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { findBrowser } from '../../scripts/browser.ts'
import type { RunningShoal } from './shoal.ts'

const themes = ['light', 'dark'] as const
/** Widths of a desktop, a small window and a phone, in pixels. */
const widths = [1440, 1000, 400] as const

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findBrowser() ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })

/** The initial local storage, with the keys of spec 3. */
export type Remembered = Partial<
  Record<'user_token' | 'userOrg' | 'tmp_invites_checked' | 'onboardingGuide' | 'theme', string>
>

/** Uncaught errors and policy violations in pages since the file's tests began. */
export const complaints: string[] = []

/** Opens an isolated browser context for one user. The tour counts as finished unless requested. */
export async function newPerson(
  browser: Browser,
  shoal: RunningShoal,
  remembered: Remembered = {},
): Promise<BrowserContext> {
  const settings = { onboardingGuide: '4', ...remembered }
  const localStorage = Object.entries(settings).map(([name, value]) => ({ name, value }))
  const context = await browser.newContext({
    baseURL: shoal.url,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    storageState: { cookies: [], origins: [{ origin: shoal.url, localStorage }] },
  })
  context.on('weberror', (error) => complaints.push(error.error().message))
  context.on('console', (message) => {
    // Pages handle error responses of the API.
    const isErrorResponse = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isErrorResponse) complaints.push(`${message.page()?.url()}: ${message.text()}`)
  })
  return context
}

/** Returns axe's findings of serious or worse impact on the current page, one line each; of all rules, or of those named. */
export async function seriousFlaws(page: Page, ...rules: string[]): Promise<string[]> {
  const isLoaded = await page.evaluate<boolean>("typeof axe !== 'undefined'")
  if (!isLoaded) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: rules }) }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${String(target)}: ${failureSummary}`),
    )
}

/**
 * Changes the theme like another tab: in the setting that all tabs share, so it also applies to pages opened later. Resolves
 * when charts have been redrawn.
 */
export const switchTheme = (page: Page, theme: (typeof themes)[number]): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    localStorage.setItem('theme', '${theme}')
    dispatchEvent(new StorageEvent('storage', { key: 'theme' }))
    requestAnimationFrame(() => requestAnimationFrame(() => done()))
  })`)

/** `npm run test:full` sets it. */
const isFull = process.env['SHOAL_TEST_FULL'] === 'true'
const shots = process.env['SHOAL_TEST_SHOTS']

/**
 * Checks the current page in both themes and returns the problems, one line each: content wider than the window at any width,
 * and serious findings of axe. Themes differ only in colours, so by default the dark theme is checked only at the greatest width
 * and only for contrast, and axe runs only at the greatest width. `npm run test:full` runs all rules in both themes at every width.
 * Saves screenshots named `<name>-<theme>-<width>`. Leaves the page in the dark theme, at the last width.
 *
 * @param height of the window in pixels
 */
export async function flawsOfLooks(page: Page, name: string, height = 900): Promise<string[]> {
  const flaws: string[] = []
  for (const theme of themes) {
    await switchTheme(page, theme)
    const checked = theme === 'light' || isFull || shots ? [...widths, 480] : [widths[0]]
    for (const width of checked) {
      await page.setViewportSize({ width, height })
      await keepShot(page, `${name}-${theme}-${width}`)
      const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      const rules = theme === 'light' || isFull ? [] : ['color-contrast']
      const found = width === widths[0] || isFull ? await seriousFlaws(page, ...rules) : []
      if (overflowPx > 0) found.push(`${overflowPx} px wider than the window`)
      flaws.push(...found.map((flaw) => `${name}, ${theme}, ${width} px: ${flaw}`))
    }
  }
  return flaws
}

/** Saves a screenshot if SHOAL_TEST_SHOTS names a folder, as in CI. */
export async function keepShot(page: Page, name: string): Promise<void> {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true })
}
