import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Page } from 'playwright-core'
import type { Deployer } from '../../e2e/support/simulated-squid.ts'
import { compare } from '../bench/support/compare.ts'
import { type Bench, atMost } from '../bench/support/result.ts'
import { org, slowDown } from './support/console.ts'
import { documentOf, serveStaticPage } from './support/static-page.ts'
import { withVersions } from './support/versions.ts'

const versions = 1_000
const rounds = 7
const polls = 18
/** Slightly longer than the console's interval (spec 9), so that polls do not remain in phase with the worker's rounds every 15 s. */
const pollIntervalMs = 10_370
/** Every nth poll requests all versions, the others only the visible ones (console/src/api/long-list.ts). */
const pollsPerFullPoll = 6
/** The interval at which a worker reads the metrics of processors. */
const metricsIntervalMs = 3_000

/** While `work` runs, advances every processor in the database as a worker does, so that each poll gets a different response. */
async function whileProcessorsAdvance<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const controller = new AbortController()
  const advance = async () => {
    while (!controller.signal.aborted) {
      await client.query(`
        update processor_states set current_block = current_block + 2, total_blocks = total_blocks + 2,
          progressed_at = now(), head_moved_at = now(), scraped_at = now()`)
      await sleep(metricsIntervalMs, undefined, { signal: controller.signal }).catch(() => undefined)
    }
  }
  const advancing = advance()
  try {
    return await work()
  } finally {
    controller.abort()
    await advancing.finally(() => client.end())
  }
}

/** Polls `onScreen` versions, and once a minute all versions. Returns the milliseconds until the headers of each response. */
async function pollTimes({ shoal, token, api }: Deployer, onScreen: number): Promise<number[]> {
  const summaries = await api.squids.listSummaries({ params: { code: org } })
  const ids = summaries.slice(0, onScreen).map(({ id }) => id)
  const times: number[] = []
  for (let round = 0; round < polls; round++) {
    await sleep(pollIntervalMs)
    const [query, expected] = round % pollsPerFullPoll === 0 ? ['', versions] : [`?ids=${ids.join(',')}`, onScreen]
    const headers = { authorization: `token ${token}`, 'accept-encoding': 'br, gzip' }
    const startedAt = performance.now()
    const response = await fetch(`${shoal.url}/api/v1/orgs/${org}/squids/summaries${query}`, { headers })
    times.push(performance.now() - startedAt)
    const { payload } = (await response.json()) as { payload: unknown[] }
    if (payload.length !== expected) throw new Error(`The API returned ${payload.length} versions, not ${expected}`)
  }
  return times
}

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
    yield* withVersions(versions, async function* ({ page, deployer, shoal, databaseUrl }) {
      const listUrl = `${shoal.url}/squids?organization=${org}`
      await usableMs(page, listUrl)
      const onScreen = await page.locator('[data-row]').count()
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

      await page.goto('about:blank')
      const pollMs = await whileProcessorsAdvance(databaseUrl, () => pollTimes(deployer, onScreen))
      const meanMs = pollMs.reduce((sum, ms) => sum + ms, 0) / polls
      yield atMost(20, `list, server time of a poll of ${versions} versions`, meanMs, 'ms')
    })
  },
}
