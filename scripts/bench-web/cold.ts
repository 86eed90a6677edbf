import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { deploySimulated } from '../../e2e/support/simulated-squid.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { org, withConsole } from './support/console.ts'

const rounds = 7
/** Time between the hover over a link and the click, in milliseconds. */
const hoverDelayMs = 250
const frameMs = 1000 / 60
/** A network with a latency of 40 ms and 10 Mbit/s. */
const network = { offline: false, latency: 40, downloadThroughput: 1_250_000, uploadThroughput: 1_250_000 }

type Visit = {
  name: string
  /** The path of the page that has the link. */
  from: string
  link: string
  /** A JavaScript expression that is truthy when the page shows its data. */
  isShown: string
}

const rows = (table: string) => `document.querySelector('table[aria-label="${table}"] [data-row]')`
const shows = (text: string) => `document.querySelector('main').textContent.includes('${text}')`
const chart = `document.querySelector('main canvas')`
const version = '/squids/transfers/v1'
const fromSquids = '/squids/deploy'
const navLink = (label: string) => `nav a:has-text("${label}")`
const tabLink = (label: string) => `main nav a:has-text("${label}")`

const visits: Visit[] = [
  { name: 'Secrets', from: fromSquids, link: navLink('Secrets'), isShown: rows('Secrets') },
  { name: 'Organization settings', from: fromSquids, link: navLink('Organization settings'), isShown: rows('Members') },
  {
    name: 'a version, from the list',
    from: '/squids',
    link: '[data-row="transfers@v1"] a',
    isShown: shows('Last deployment'),
  },
  {
    name: 'the tab Deployments of a version',
    from: version,
    link: tabLink('Deployments'),
    isShown: rows('Deployments'),
  },
  {
    name: 'the tab Manifest of a version',
    from: version,
    link: tabLink('Manifest'),
    isShown: shows('manifest_version'),
  },
  { name: 'the tab Metrics of a version', from: version, link: tabLink('Metrics'), isShown: chart },
  { name: 'Monitoring', from: fromSquids, link: navLink('Monitoring'), isShown: chart },
]

/** Returns code for the page. It records the times of the hover and the click, and resolves `window.visit` with them when the data is painted. */
const watch = (isShown: string) => `window.visit = new Promise((done) => {
  const times = {}
  addEventListener('pointerover', () => (times.hoverMs ??= performance.now()), { capture: true })
  addEventListener('click', () => (times.clickMs ??= performance.now()), { capture: true })
  const check = () => {
    if (times.clickMs && ${isShown}) requestAnimationFrame(() => done({ ...times, paintedMs: performance.now() }))
    else requestAnimationFrame(check)
  }
  requestAnimationFrame(check)
}), null`

/** Repeats the API requests that the page sent between `since` and `until`, all at the same time, and returns their duration in milliseconds. */
const apiMs = (page: Page, token: string, since: number, until: number) =>
  page.evaluate<number>(`(async () => {
    const urls = new Set(performance.getEntriesByType('resource')
      .filter(({ name, startTime }) => name.includes('/api/') && startTime >= ${since} && startTime <= ${until})
      .map(({ name }) => name))
    if (urls.size === 0) throw new Error('The page requested no data')
    const startedAt = performance.now()
    const headers = { authorization: 'Bearer ${token}' }
    await Promise.all([...urls].map(async (url) => (await fetch(url, { headers, cache: 'no-store' })).json()))
    return performance.now() - startedAt
  })()`)

/** Visits a page whose code and data the browser does not have. Returns the milliseconds from the click to the painted data (`visitMs`), and those of its API requests alone (`requestsMs`). */
async function visitOnce(page: Page, session: CDPSession, token: string, { from, link, isShown }: Visit) {
  await page.goto('about:blank')
  await session.send('Network.clearBrowserCache')
  await page.goto(`${from}?organization=${org}`)
  await page.locator(link).first().waitFor()
  await page.waitForLoadState('networkidle')
  await page.mouse.move(0, 0)
  await page.evaluate(watch(isShown))
  await page.locator(link).first().hover()
  await sleep(hoverDelayMs)
  await page.mouse.down()
  await page.mouse.up()
  const { hoverMs, clickMs, paintedMs } =
    await page.evaluate<Record<'hoverMs' | 'clickMs' | 'paintedMs', number>>('window.visit')
  const requestsMs = await apiMs(page, token, hoverMs, paintedMs)
  return { visitMs: paintedMs - clickMs, requestsMs }
}

export const bench: Bench = {
  name: 'cold',
  async *run() {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim' }, async function* ({ page, deployer }) {
      const { api, token } = deployer
      await api.secrets.change({
        params: { code: org },
        body: { secrets: [{ name: 'RPC_KEY', value: 'a value', action: 'UPDATE' }] },
      })
      await deploySimulated(deployer, { name: 'transfers', slot: 'v1' })
      const session = await page.context().newCDPSession(page)
      await session.send('Network.enable')
      await session.send('Network.emulateNetworkConditions', network)
      for (const visit of visits) {
        const ratios: number[] = []
        for (let round = 0; round < rounds; round++) {
          const { visitMs, requestsMs } = await visitOnce(page, session, token, visit)
          ratios.push(Math.max(0, visitMs - frameMs) / requestsMs)
        }
        yield atMost(1.2, `cold, ${visit.name}: time after the click relative to its API requests`, median(ratios), '×')
      }
    })
  },
}
