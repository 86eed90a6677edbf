import axe from 'axe-core'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserServer,
  type LaunchOptions,
  type Page,
} from 'playwright-core'
import { findBrowser } from '../../scripts/browser.ts'
import type { RunningShoal } from './shoal.ts'
import { isFull } from './tier.ts'
import { until } from './until.ts'

const themes = ['light', 'dark'] as const
/** Widths of a desktop, a small window and a phone, in pixels. */
const widths = [1440, 1000, 400] as const

/** Starts a browser with these additional command-line arguments. */
export const openBrowser = (...args: string[]): Promise<Browser> => chromium.launch(browserOptions(args))

/** Starts a browser to which several processes can connect. It also ends when this process does. */
export const openBrowserServer = (): Promise<BrowserServer> => chromium.launchServer(browserOptions())

/** Starts a browser that draws text in the same way on every machine with this version of the browser. */
export const openBrowserForScreenshots = (): Promise<Browser> =>
  chromium.launch(
    browserOptions(['--disable-lcd-text', '--force-color-profile=srgb'], {
      FONTCONFIG_FILE: join(import.meta.dirname, 'fonts.conf'),
    }),
  )

const browserOptions = (args: readonly string[] = [], env: Record<string, string> = {}): LaunchOptions => ({
  env: { ...process.env, ...env },
  executablePath: findBrowser() ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    ...args,
  ],
})

/** Initial values of the local storage, by the keys of spec 3. */
export type StoredSettings = Partial<
  Record<'user_token' | 'userOrg' | 'tmp_invites_checked' | 'onboardingGuide' | 'theme', string>
>

/** Uncaught errors and error messages on the console of all pages since the test file started. */
export const pageErrors: string[] = []

/** Violations of the content security policy in all pages, one line each. `e2e/console/violations.ts` checks and clears them after each test. */
export const policyViolations: string[] = []

/** The contexts of `newUser` that are not closed. */
const openContexts = new Set<BrowserContext>()

/** Describes what each open page shows, in one line each, for the error of a failed test. */
export async function describeOpenPages(): Promise<string[]> {
  const pages = [...openContexts].flatMap((context) => context.pages())
  return Promise.all(pages.map((page) => page.evaluate<string>(describePage).catch(String)))
}

const describePage = `(() => {
  const textOf = (element) => element.innerText.replace(/\\s+/g, ' ').slice(0, 300)
  const parts = [...document.querySelectorAll('[role=dialog], [role=alertdialog], [role=alert], [role=status], h1')]
  const blocked = document.querySelectorAll('[inert], [aria-hidden=true]:not(svg)').length
  return location.pathname + ', ' + blocked + ' hidden elements: ' + parts.map((part) => (part.role ?? 'heading') + ' "' + textOf(part) + '"').join(', ')
})()`

const reportViolations = `addEventListener('securitypolicyviolation', (event) => {
  const source = event.sourceFile ? ' in ' + event.sourceFile + ':' + event.lineNumber : ''
  reportViolation(location.pathname + ': ' + event.effectiveDirective + ' blocks ' + event.blockedURI + ' ' + event.sample + source)
})`

/** Opens an isolated browser context for one user. By default, the user has finished the onboarding tour. */
export async function newUser(
  browser: Browser,
  shoal: RunningShoal,
  stored: StoredSettings = {},
): Promise<BrowserContext> {
  const settings = { onboardingGuide: '4', ...stored }
  const localStorage = Object.entries(settings).map(([name, value]) => ({ name, value }))
  const context = await browser.newContext({
    baseURL: shoal.url,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    storageState: { cookies: [], origins: [{ origin: shoal.url, localStorage }] },
  })
  // Twice Playwright's default, for machines under load.
  context.setDefaultTimeout(60_000)
  openContexts.add(context)
  context.once('close', () => openContexts.delete(context))
  await context.exposeFunction('reportViolation', (violation: string) => void policyViolations.push(violation))
  await context.addInitScript(reportViolations)
  context.on('weberror', (error) => pageErrors.push(error.error().message))
  context.on('console', (message) => {
    // Failed requests are not faults: pages handle error responses of the API and code that cannot be loaded.
    const isFailedRequest = /^Failed to load resource|Failed to fetch dynamically imported module/.test(message.text())
    if (message.type() === 'error' && !isFailedRequest) pageErrors.push(`${message.page()?.url()}: ${message.text()}`)
  })
  return context
}

/**
 * Whether all overlays of the page are opaque. Axe ignores an overlay that is still transparent, and would report that the page, which is
 * inert behind a dialog, has no heading.
 */
const areOverlaysOpaque = `(() => {
  const overlays = [...document.querySelectorAll('[role=dialog], [role=alertdialog], [role=menu], [role=listbox]')]
  const isTransparent = (element) => element.checkVisibility() && !element.checkVisibility({ opacityProperty: true })
  const isFading = (animation) => animation instanceof CSSTransition && animation.playState !== 'finished'
  return !document.querySelector('[data-entering]') && !overlays.some(isTransparent) && !document.getAnimations().some(isFading)
})()`

/** Checks the current page with the given axe rules, by default all of them. Returns all violations that axe reports, of any impact, one line each. */
export async function axeFlaws(page: Page, ...rules: string[]): Promise<string[]> {
  await until(() => page.evaluate<boolean>(areOverlaysOpaque), 'all overlays are opaque')
  const isLoaded = await page.evaluate<boolean>("typeof axe !== 'undefined'")
  if (!isLoaded) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: rules }) }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, html, failureSummary }) => `${id} at ${String(target)}, ${html}: ${failureSummary}`),
  )
}

/**
 * Changes the theme in the local storage, as another tab would, so that it also applies to pages that are opened later. Resolves
 * when the page has redrawn its charts.
 */
export const switchTheme = (page: Page, theme: (typeof themes)[number]): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    localStorage.setItem('theme', '${theme}')
    dispatchEvent(new StorageEvent('storage', { key: 'theme' }))
    requestAnimationFrame(() => requestAnimationFrame(() => done()))
  })`)

const screenshotFolder = process.env['SHOAL_TEST_SHOTS']

/**
 * Checks the current page in both themes. Returns its flaws, one line each: content that is wider than the window, at each width, and
 * flaws that axe finds. Axe runs only at the greatest width. Themes differ only in colours, so the dark theme is checked only
 * at that width, and only for contrast. `npm run test:full` runs all rules in both themes at every width.
 * Saves screenshots named `<name>-<theme>-<width>`. Leaves the page in the dark theme, at an unspecified width.
 *
 * @param height of the window in pixels
 */
export async function accessibilityFlaws(page: Page, name: string, height = 900): Promise<string[]> {
  const flaws: string[] = []
  for (const theme of themes) {
    await switchTheme(page, theme)
    // The layout changes at 480 px, the smallest breakpoint of ui/styles.css, so that width is checked too.
    const checkedWidths = theme === 'light' || isFull || screenshotFolder ? [...widths, 480] : [widths[0]]
    for (const width of checkedWidths) {
      await page.setViewportSize({ width, height })
      await saveScreenshot(page, `${name}-${theme}-${width}`)
      const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      const rules = theme === 'light' || isFull ? [] : ['color-contrast']
      const findings = width === widths[0] || isFull ? await axeFlaws(page, ...rules) : []
      if (overflowPx > 0) findings.push(`${overflowPx} px wider than the window`)
      flaws.push(...findings.map((flaw) => `${name}, ${theme}, ${width} px: ${flaw}`))
    }
  }
  return flaws
}

/** Saves a screenshot if SHOAL_TEST_SHOTS names a folder, as in CI. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  if (!screenshotFolder) return
  mkdirSync(screenshotFolder, { recursive: true })
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`), fullPage: true })
}
