import type { Page } from 'playwright-core'
import { type Bench, atMost } from '../bench/support/result.ts'
import { org, slowDown } from './support/console.ts'
import { ratioToStaticPage, type Interaction } from './support/compare-to-static.ts'
import { click } from './support/painted.ts'
import { withVersions } from './support/versions.ts'

const versions = 200

type Bar = {
  /** The greatest ratio that reaches the target. */
  maxRatio: number
}

const menu = '[role=menu]'
// Not `[role=dialog]`, which the popover of the menu has, too.
const dialog = '[role=alertdialog]'
const firstRow = `document.querySelector('[data-row]')?.dataset.row`
const isDark = `document.documentElement.dataset.theme === 'dark'`

const close = async (page: Page, selector: string) => {
  await page.keyboard.press('Escape')
  await page.locator(selector).waitFor({ state: 'detached' })
}
const openAccountMenu = async (page: Page) => {
  await page.getByRole('button', { name: 'Account of' }).click()
  await page.locator(menu).waitFor()
}
/** Returns an expression that enters a text into the search field, as one keystroke does. */
const type = (text: string) => `(() => {
  const field = document.querySelector('main input[type=search]')
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, ${JSON.stringify(text)})
  field.dispatchEvent(new Event('input', { bubbles: true }))
})()`

const interactions: (Interaction & Bar)[] = [
  {
    name: 'row menu',
    maxRatio: 3,
    part: 'overlays',
    start: click('[data-row-menu]'),
    isDone: `document.querySelector('${menu}')`,
    undo: (page) => close(page, menu),
  },
  {
    name: 'dialog',
    maxRatio: 3,
    part: 'overlays',
    prepare: async (page) => {
      await page.locator('[data-row-menu]').first().click()
      await page.locator(menu).waitFor()
    },
    start: `[...document.querySelectorAll('[role=menuitem]')].find((item) => item.textContent.startsWith('Delete')).click()`,
    isDone: `document.querySelector('${dialog}')`,
    undo: (page) => close(page, dialog),
  },
  {
    name: 'filter key',
    maxRatio: 3,
    part: 'rows',
    start: type('7'),
    isDone: `${firstRow}?.includes('7')`,
    undo: async (page) => {
      await page.evaluate(type(''))
      await page.locator('[data-row="squid-0@v1"]').waitFor()
    },
  },
  {
    name: 'sort',
    maxRatio: 3,
    part: 'rows',
    start: `document.querySelector('main th[aria-sort] button').click()`,
    isDone: `${firstRow}?.startsWith('transfers')`,
    undo: async (page) => {
      await page.evaluate(`document.querySelector('main th[aria-sort] button').click()`)
      await page.locator('[data-row="squid-0@v1"]').waitFor()
    },
  },
  {
    name: 'theme',
    maxRatio: 3,
    part: 'overlays',
    prepare: openAccountMenu,
    start: `[...document.querySelectorAll('[role=menuitem]')].find((item) => item.textContent.startsWith('Dark theme')).click()`,
    isDone: isDark,
    undo: async (page) => {
      await openAccountMenu(page)
      await page.getByRole('menuitem', { name: 'Light theme' }).click()
      await page.locator(menu).waitFor({ state: 'detached' })
    },
  },
]

export const bench: Bench = {
  name: 'interactions',
  async *run() {
    yield* withVersions(versions, async function* ({ page, context, shoal }) {
      await page.goto(`${shoal.url}/squids?organization=${org}`)
      await page.getByRole('button', { name: /Status$/ }).waitFor()
      const staticPage = await context.newPage()
      await slowDown(page)
      await slowDown(staticPage)
      await page.bringToFront()
      for (const interaction of interactions) {
        const { name, maxRatio } = interaction
        yield atMost(
          maxRatio,
          `interactions, ${name} relative to the same change of a static page`,
          await ratioToStaticPage(page, staticPage, interaction),
          '×',
        )
      }
    })
  },
}
