import axe from 'axe-core'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { findBrowser } from '../../scripts/browser.ts'
import type { Shoal } from './shoal.ts'

export const themes = ['light', 'dark'] as const
/** Of a desktop, a small window and a phone, in pixels. */
export const widths = [1440, 1000, 400] as const

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

/** What a page's browser remembers from the beginning, under the keys of spec 3. */
export type Remembered = Partial<
  Record<'user_token' | 'userOrg' | 'tmp_invites_checked' | 'onboardingGuide' | 'theme', string>
>

/** What browsers said against our pages since the file's tests began: errors nobody caught, and what a policy forbade. */
export const complaints: string[] = []

/** A browser of its own for one person: nothing is shared with the others. The tour is over unless it is asked for. */
export async function newPerson(browser: Browser, shoal: Shoal, remembered: Remembered = {}): Promise<BrowserContext> {
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
    // An answer of the API that is an error is the page's to explain.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) complaints.push(`${message.page()?.url()}: ${message.text()}`)
  })
  return context
}

/** What axe finds serious or worse on the page as it is now, one line each; of all its rules, or of those named. */
export async function seriousFlaws(page: Page, ...rules: string[]): Promise<string[]> {
  const isThere = await page.evaluate<boolean>("typeof axe !== 'undefined'")
  if (!isThere) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: rules }) }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${String(target)}: ${failureSummary}`),
    )
}

/**
 * As another tab would: the setting is changed, which all tabs of a person share, and stays for what is opened next. What
 * does not follow by CSS has been drawn again when it is over.
 */
export const switchTheme = (page: Page, theme: (typeof themes)[number]): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    localStorage.setItem('theme', '${theme}')
    dispatchEvent(new StorageEvent('storage', { key: 'theme' }))
    requestAnimationFrame(() => requestAnimationFrame(() => done()))
  })`)

/**
 * Looks at the page as it is now in both themes and at every width: keeps pictures called `<name>-<theme>-<width>`, and
 * answers what is wrong, one line each. What is folded away differs only between the widest and the narrow ones, and a
 * theme changes nothing but colours. The page stays as it was looked at last.
 */
export async function flawsOfLooks(page: Page, name: string): Promise<string[]> {
  const flaws: string[] = []
  for (const theme of themes) {
    await switchTheme(page, theme)
    for (const width of [...widths, 480]) {
      await page.setViewportSize({ width, height: 900 })
      await keepShot(page, `${name}-${theme}-${width}`)
      const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      const isAudited = width === 1440 || width === 480
      const found = isAudited ? await seriousFlaws(page, ...(theme === 'light' ? [] : ['color-contrast'])) : []
      if (overflowPx > 0) found.push(`${overflowPx} px wider than the window`)
      flaws.push(...found.map((flaw) => `${name}, ${theme}, ${width} px: ${flaw}`))
    }
  }
  return flaws
}

/** Keeps a picture when SHOAL_TEST_SHOTS names a folder, as CI does. */
export async function keepShot(page: Page, name: string): Promise<void> {
  const folder = process.env['SHOAL_TEST_SHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
