import type { Page } from 'playwright-core'
import { deploySimulated } from '../../e2e/support/simulated-squid.ts'
import { type Bench, atMost } from '../bench/support/result.ts'
import { slowDown, withConsole } from './support/console.ts'
import { ratioToStaticPage } from './support/compare-to-static.ts'

/** The pages, by the text of both their heading and their navigation link. */
const pages = ['Secrets', 'Squids', 'Organization settings']

const link = (name: string) =>
  `[...document.querySelectorAll('nav a')].find((a) => a.textContent.trim().startsWith('${name}'))`
const isOpen = (name: string) => `document.querySelector('h1')?.textContent.trim() === '${name}'`

/** Opens a page, and waits until it shows its data. */
async function open(page: Page, name: string): Promise<void> {
  await page.evaluate(`${link(name)}.click()`)
  await page.getByRole('heading', { name, level: 1 }).waitFor()
  await page.waitForLoadState('networkidle')
}

export const bench: Bench = {
  name: 'routes',
  async *run() {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim' }, async function* ({ page, context, deployer }) {
      await deploySimulated(deployer, { name: 'transfers', slot: 'v1' })
      await page.goto(`/squids?organization=${deployer.org}`)
      await page.getByRole('link', { name: 'Secrets' }).first().waitFor()
      // The first visit loads the page's code and data.
      for (const name of pages) await open(page, name)
      const staticPage = await context.newPage()
      await slowDown(page)
      await slowDown(staticPage)
      await page.bringToFront()
      for (const name of pages) {
        const previous = name === 'Squids' ? 'Secrets' : 'Squids'
        const ratio = await ratioToStaticPage(page, staticPage, {
          name,
          part: 'main',
          prepare: () => open(page, previous),
          start: `${link(name)}.click()`,
          isDone: isOpen(name),
          undo: () => open(page, previous),
        })
        yield atMost(4, `routes, to ${name} with its data loaded, relative to a static page`, ratio, '×')
      }
    })
  },
}
