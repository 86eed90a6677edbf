import type { Page } from 'playwright-core'
import { deploySimulated } from '../../e2e/support/simulated-squid.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { slowDown, withConsole } from './support/console.ts'

const rounds = 9

/**
 * Returns the milliseconds from a click on the navigation link to the frame that paints the new page's heading. Measured in the
 * page, so that the latency of the browser's protocol is excluded.
 */
const navigationMs = (page: Page, link: string, heading: string): Promise<number> =>
  page.evaluate<number>(`new Promise((done, fail) => {
    const link = [...document.querySelectorAll('nav a')].find((a) => a.textContent.trim().startsWith('${link}'))
    if (!link) return fail(new Error('The page has no link ${link}'))
    const startedAt = performance.now()
    const check = () => {
      const isShown = document.querySelector('h1')?.textContent.trim() === '${heading}'
      requestAnimationFrame(isShown ? () => done(performance.now() - startedAt) : check)
    }
    link.click()
    requestAnimationFrame(check)
  })`)

export const bench: Bench = {
  name: 'routes',
  async *run() {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim' }, async function* ({ page, deployer }) {
      await deploySimulated(deployer, { name: 'transfers', slot: 'v1' })
      await page.goto(`/squids?organization=${deployer.org}`)
      await page.getByRole('link', { name: 'Secrets' }).first().waitFor()
      const pages = [
        { link: 'Secrets', heading: 'Secrets' },
        { link: 'Squids', heading: 'Squids' },
        { link: 'Organization settings', heading: 'Organization settings' },
        { link: 'Squids', heading: 'Squids' },
      ]
      // Warm-up: the first visit loads the page's code and data.
      for (const { link, heading } of pages) await navigationMs(page, link, heading)
      await slowDown(page)
      const measured = new Map<string, number[]>()
      for (let round = 0; round < rounds; round++)
        for (const { link, heading } of pages)
          measured.set(heading, [...(measured.get(heading) ?? []), await navigationMs(page, link, heading)])
      for (const [heading, times] of measured)
        yield atMost(100, `routes, to ${heading} with its data loaded, 4 × slower`, median(times), 'ms')
    })
  },
}
