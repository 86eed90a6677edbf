import type { Page } from 'playwright-core'
import { compare } from '../bench/support/compare.ts'
import { type Bench, atMost } from '../bench/support/result.ts'
import { org, slowDown } from './support/console.ts'
import { documentOf, serveStaticPage } from './support/static-page.ts'
import { withVersions } from './support/versions.ts'

const versions = 1_000
const rounds = 7

/** Returns the milliseconds from the navigation until rows are shown and the browser is free to handle a click. */
async function usableMs(page: Page, url: string): Promise<number> {
  await page.goto('about:blank')
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('[data-row]').first().waitFor()
  return page.evaluate<number>('new Promise((done) => requestIdleCallback(() => done(performance.now())))')
}

/** An expression that repeats the rendered rows of the list until the document has a row for every version, like a page without virtual scrolling. */
const drawAllRows = `(() => {
  const body = document.querySelector('main tbody')
  const lines = [...body.children].filter((line) => !line.hasAttribute('aria-hidden'))
  const drawn = lines.filter((line) => line.dataset.row).length
  body.replaceChildren(...lines)
  for (let rows = drawn; rows < ${versions}; rows += drawn) body.append(...lines.map((line) => line.cloneNode(true)))
})()`

export const bench: Bench = {
  name: 'list',
  async *run() {
    yield* withVersions(versions, async function* ({ page, shoal }) {
      const listUrl = `${shoal.url}/squids?organization=${org}`
      await usableMs(page, listUrl)
      await page.evaluate(drawAllRows)
      const staticPage = await serveStaticPage(await documentOf(page))
      try {
        // The first visit fills the caches of the browser.
        await usableMs(page, staticPage.url)
        await slowDown(page)
        const { ratio } = await compare(
          rounds,
          () => usableMs(page, listUrl),
          () => usableMs(page, staticPage.url),
        )
        yield atMost(3, `list, usable with ${versions} versions relative to a static page, with a slow CPU`, ratio, '×')
      } finally {
        await staticPage.end()
      }
    })
  },
}
