import type { Page } from 'playwright-core'
import { played } from '../../e2e/support/played-squid.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { slowDown, withConsole } from './support/console.ts'

const rounds = 9

/**
 * Returns the milliseconds from a click on the navigation to the frame in which the page's own heading is painted. Measured in the
 * page, so that the latency of the browser's protocol is excluded.
 */
const change = (page: Page, link: string, heading: string): Promise<number> =>
  page.evaluate<number>(`new Promise((done, fail) => {
    const link = [...document.querySelectorAll('nav a')].find((a) => a.textContent.trim().startsWith('${link}'))
    if (!link) return fail(new Error('no link ${link}'))
    const startedAt = performance.now()
    const check = () => {
      const isThere = document.querySelector('h1')?.textContent.trim() === '${heading}'
      requestAnimationFrame(isThere ? () => done(performance.now() - startedAt) : check)
    }
    link.click()
    requestAnimationFrame(check)
  })`)

export const bench: Bench = {
  name: 'routes',
  async *run() {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim' }, async function* ({ page, who }) {
      await played(who, { name: 'transfers', slot: 'v1' })
      await page.goto(`/squids?organization=${who.org}`)
      await page.getByRole('link', { name: 'Secrets' }).first().waitFor()
      const pages = [
        { link: 'Secrets', heading: 'Secrets' },
        { link: 'Squids', heading: 'Squids' },
        { link: 'Organization settings', heading: 'Organization settings' },
        { link: 'Squids', heading: 'Squids' },
      ]
      // Warm-up: the first time loads the page's code and data.
      for (const { link, heading } of pages) await change(page, link, heading)
      await slowDown(page)
      const measured = new Map<string, number[]>()
      for (let round = 0; round < rounds; round++)
        for (const { link, heading } of pages)
          measured.set(heading, [...(measured.get(heading) ?? []), await change(page, link, heading)])
      for (const [heading, times] of measured)
        yield atMost(100, `routes, to ${heading} with its data loaded, 4 × slower`, median(times), 'ms')
    })
  },
}
