import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page, Route } from 'playwright-core'
import { axeFlaws, switchTheme } from '../../e2e/support/browser.ts'
import { answerGraphql } from '../../e2e/support/graphql-route.ts'
import { emptyOrg, fullOrg } from './orgs.ts'
import type { Screen, Step } from './screen.ts'
import type { State } from './states.ts'

const themes = ['light', 'dark'] as const
/** Widths of a desktop, a small window and a phone, with heights that fit, in pixels. */
const windows = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
] as const

/** Whether axe checks the page in this appearance: the themes differ only in colours. */
const hasAxe = (theme: (typeof themes)[number], width: number) => width === 1440 || (theme === 'light' && width === 390)

/** Returns whether pages need this request in every state: the session and the sign-in options. */
const isAlwaysNeeded = (url: string) => /\/api\/v1\/(user|user\/invites|auth\/options)(\?|$)/.test(url)

async function intercept(page: Page, state: State): Promise<void> {
  const failOthers = (route: Route) =>
    isAlwaysNeeded(route.request().url())
      ? route.continue()
      : route.fulfill({ status: 500, json: { error: 'The screenshots simulate this error' } })
  const holdOthers = (route: Route) => (isAlwaysNeeded(route.request().url()) ? route.continue() : undefined)
  if (state === 'full') await answerGraphql(page)
  if (state === 'failing') await page.route('**/api/v1/**', failOthers)
  if (state === 'unavailable') await page.route('**/api/v1/**', (route) => route.fulfill({ status: 503, json: {} }))
  if (state === 'loading') await page.route('**/api/v1/**', holdOthers)
}

/** Waits until nothing is loading; in the state `loading`, until the placeholders are visible. */
async function settle(page: Page, state: State): Promise<void> {
  await page.locator('main').first().waitFor()
  // The frame of index.html has no heading.
  if (state === 'unavailable') await page.locator('h1').waitFor()
  if (state === 'loading') await page.waitForTimeout(400)
  // After the timeout, the screenshot shows a page that is still loading.
  else {
    await page.waitForLoadState('networkidle', { timeout: 8000 }).catch(() => null)
    await page
      .waitForFunction("document.querySelectorAll('.skeleton').length === 0", undefined, { timeout: 8000 })
      .catch(() => null)
  }
  await page.evaluate('document.fonts.ready')
}

/** Scrolls through the page and back to the top, because the page draws charts and logs only when they are visible. */
const showAll = (page: Page): Promise<void> =>
  page.evaluate(`(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done))
    for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
      scrollTo(0, top)
      await frame()
      await frame()
    }
    scrollTo(0, 0)
    await frame()
    await frame()
  })()`)

const openOverlay = '[role=dialog], [role=alertdialog], [role=menu]'
const overlayTimeout = { timeout: 20_000 }

/** Throws if the page has no such button, menu item or field. */
async function take(page: Page, step: Step): Promise<void> {
  if (typeof step === 'string' || step instanceof RegExp) return await clickControl(page, step)
  if ('key' in step) return await page.keyboard.press(step.key)
  await page.getByLabel(step.fill).fill(step.with, overlayTimeout)
}

function clickControl(page: Page, name: string | RegExp): Promise<void> {
  const ofName = { name, exact: true }
  const control = page.getByRole('button', ofName).or(page.getByRole('menuitem', ofName)).first()
  return control.click(overlayTimeout)
}

/** Resolves when the page shows that the server does not respond. */
async function loseConnection(page: Page): Promise<void> {
  await page.route('**/api/v1/**', (route) => route.abort())
  await page.getByText(/^No connection since/).waitFor()
}

/** Saves screenshots of a page in both themes at every width, as `<name>-<state>-<theme>-<width>.png`. Returns a line for each flaw that axe finds, and for each screenshot that is wider than the window. */
export async function takeScreenshots(
  context: BrowserContext,
  { name, path, press, hasLostConnection, responses = {}, hasOwnTheme }: Screen,
  state: State,
  folder: string,
): Promise<string[]> {
  mkdirSync(folder, { recursive: true })
  const page = await context.newPage()
  const problems: string[] = []
  try {
    await intercept(page, state)
    for (const [url, payload] of Object.entries(responses))
      await page.route(url, (route) => route.fulfill({ json: { payload } }))
    const org = state === 'empty' ? emptyOrg : fullOrg
    await page.setViewportSize(windows[0])
    await page.goto(`${path}${path.includes('?') ? '&' : '?'}organization=${org}`)
    await settle(page, state)
    const overlay = page.locator(openOverlay).first()
    try {
      for (const step of press ?? []) await take(page, step)
      if (press) await overlay.waitFor(overlayTimeout)
    } catch (error) {
      return [`${name}-${state}: nothing has opened, no screenshots: ${String(error)}`]
    }
    if (hasLostConnection) await loseConnection(page)
    for (const theme of themes) {
      await switchTheme(page, theme)
      // Public pages use the colour scheme of the browser.
      await page.emulateMedia({ colorScheme: theme })
      if (hasOwnTheme) await page.reload()
      if (hasOwnTheme) await settle(page, state)
      for (const window of windows) {
        await page.setViewportSize(window)
        await showAll(page)
        const id = `${name}-${state}-${theme}-${window.width}`
        if (press && !(await overlay.isVisible())) problems.push(`${id}: the dialog or menu has closed`)
        const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        if (overflowPx > 0) problems.push(`${id}: ${overflowPx} px wider than the window`)
        if (hasAxe(theme, window.width)) problems.push(...(await axeFlaws(page)).map((flaw) => `${id}: ${flaw}`))
        await page.screenshot({
          path: join(folder, `${id}.png`),
          fullPage: press === undefined,
          animations: 'disabled',
        })
      }
    }
  } finally {
    await page.close()
  }
  return problems
}
