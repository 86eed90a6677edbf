import type { MonitoringSeries, MonitoringQuery } from '@shoal/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type Deployer } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer
/** The last API response to each query of the page. */
const responses = new Map<MonitoringQuery, MonitoringSeries[]>()

const code = 'monitoring-labs'
const MIB = 2 ** 20
const crashes = 2
const kills = 1
const sync = { fromBlock: 1000, headBlock: 1e9, headBlocksPerSecond: 1, blocksPerSecond: 500 }
/** A collocated program may use a fifth of a core. This program needs twice as much, so its CPU is throttled half of the time. */
const busy = { cpuCores: 0.4, memoryBytes: 384 * MIB }

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'mira@monitoring.dev')
  page = person.page
  deployer = { shoal, org: code, token: person.token, api: person.api }
  for (const org of [code, 'new-labs'])
    await deployer.api.orgs.create({ body: { code: org, name: org, email: 'mira@monitoring.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const crashing = { sync, usage: busy, ends: { afterMs: 6000, exitCode: 1 }, endingRuns: crashes }
  const outOfMemory = { sync, ends: { afterMs: 6000, outOfMemory: true }, endingRuns: kills }
  const deployed = await Promise.all([
    deploySimulated(deployer, { name: 'transfers', slot: 'v1', tag: 'production', processors: { eth: crashing } }),
    deploySimulated(deployer, { name: 'transfers', slot: 'v2', tag: 'next', processors: { eth: outOfMemory } }),
  ])
  expect(deployed.map(({ failed }) => failed)).toEqual(['NO', 'NO'])
  // Wait until the crashes have happened and all queries have samples.
  await until(async () => (await sumOf('crashes')) === crashes + kills, 'the API returns all crashes')
  for (const query of frequentQueries) await until(() => hasCompletePoint(query), `${query} has a complete point`)
  page.on('response', (response) => {
    const query = /\/monitoring\/squids\/(\w+)\?/.exec(response.url())?.[1] as MonitoringQuery | undefined
    if (query && response.ok())
      void response
        .json()
        .then(({ payload }: { payload: MonitoringSeries[] }) => responses.set(query, payload))
        .catch(() => undefined)
  })
})

afterAll(async () => {
  await browser?.close()
})

/** Requests the last hour, as the page does. */
const fetchLastHour = (query: MonitoringQuery) =>
  deployer.api.monitoring.query({
    params: { code, query },
    query: { from: new Date(Date.now() - 3_600_000).toISOString() },
  })
/** Returns whether any complete point has a value. The last point is not complete. */
const hasCompletePoint = async (query: MonitoringQuery) =>
  (await fetchLastHour(query)).some(({ values }) => values.slice(0, -1).some(({ v }) => v !== null))
const sumOf = async (query: MonitoringQuery) =>
  (await fetchLastHour(query)).flatMap(({ values }) => values).reduce((sum, { v }) => sum + (v ?? 0), 0)

const open = (query = 'timeframe=1h', org = code, target = page) =>
  target.goto(`/monitoring?organization=${org}&${query}`)
const card = (title: string, target = page) =>
  target.locator('section').filter({ has: target.getByRole('heading', { name: title, exact: true }) })
const legend = (name: string) => page.getByRole('region', { name: 'Legend' }).getByRole('button', { name, exact: true })
const plots = () => page.getByRole('img').filter({ has: page.locator('.u-over') })
const option = (name: string) => page.getByRole('option', { name, exact: true })
const pressFilter = (name: string) => page.getByRole('button', { name: new RegExp(`${name}$`) }).click()

const parameter = (name: string) => new URL(page.url()).searchParams.getAll(name)

/** Waits until the page shows all charts except that of databases. */
const waitForCharts = (target = page) =>
  expect
    .poll(() => target.getByRole('button', { name: 'Show as a table' }).count())
    .toBeGreaterThanOrEqual(frequentQueries.length)

const titles: Record<MonitoringQuery, string> = {
  crashes: 'Crashes',
  oom_kills: 'OOMs',
  cpu_utilization: 'CPU utilization',
  cpu_trotting: 'CPU throttling',
  mem_utilization: 'Memory utilization',
  disk_utilization: 'Disk utilization',
  indexed_blocks: 'Indexed blocks',
  indexed_height: 'Indexed height',
}
const queries = Object.keys(titles) as MonitoringQuery[]
/** The queries of all charts except that of databases: Shoal measures databases less often, so the last test waits for that chart. */
const frequentQueries = queries.filter((query) => query !== 'disk_utilization')

/** Copies the table of a chart. Returns the cells of each column by its label. */
async function copyTable(title: string): Promise<Map<string, string[]>> {
  await card(title)
    .getByRole('button', { name: new RegExp(`^(Copy ${title} as a table|Copied)$`) })
    .click()
  const text = await page.evaluate<string>('navigator.clipboard.readText()')
  const rows = text.split('\n').map((row) => row.split('\t'))
  return new Map(rows[0]?.map((label, column) => [label, rows.slice(1).map((row) => row[column] ?? '')]))
}

/** Builds the same table from the API response. */
function responseTable(query: MonitoringQuery): Map<string, string[]> {
  const series = responses.get(query) ?? []
  const times = series[0]?.values.map(({ t }) => new Date(t * 1000).toISOString()) ?? []
  return new Map([
    ['Time', times],
    ...series.map(({ labels, values }): [string, string[]] => [
      `${labels.squid_name} ${labels.container}`,
      values.map(({ v }) => (v === null ? '' : String(v))),
    ]),
  ])
}

const sorted = (columns: Map<string, string[]>) => [...columns].toSorted(([a], [b]) => a.localeCompare(b))

test('the eight charts show the values that the API returns, which match the simulated events', async () => {
  await open()
  await waitForCharts()
  await expect.poll(() => page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(Object.values(titles))
  for (const query of frequentQueries) {
    const title = titles[query]
    const heightPx = (await card(title).getByRole('img').boundingBox())?.height
    expect([title, heightPx]).toEqual([title, query === 'crashes' || query === 'oom_kills' ? 200 : 250])
    await card(title).getByRole('button', { name: 'Show as a table' }).click()
    await expect.poll(async () => sorted(await copyTable(title))).toEqual(sorted(drawnTable(query)))
  }
  const numbersOf = async (title: string, series: string) =>
    ((await copyTable(title)).get(series) ?? []).filter((cell) => cell !== '').map(Number)
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0)
  expect(sum(await numbersOf('Crashes', 'transfers@v1 eth'))).toBe(crashes)
  expect(sum(await numbersOf('Crashes', 'transfers@v2 eth'))).toBe(kills)
  expect([...(await copyTable('OOMs')).keys()]).toEqual(['Time', 'transfers@v2 eth'])
  expect(sum(await numbersOf('OOMs', 'transfers@v2 eth'))).toBe(kills)
  // The chart has gaps, not zeros, for the time before the versions were deployed.
  expect((await copyTable('CPU utilization')).get('transfers@v1 eth')?.[0]).toBe('')
  await expect.poll(() => card('Memory utilization').getByRole('cell', { name: '50%' }).count()).toBeGreaterThan(0)
  await card('Crashes').getByRole('button', { name: 'Show as a chart' }).click()
  const marks = page.getByRole('list', { name: 'Deployments in Crashes' }).getByRole('link')
  await expect.poll(() => marks.count()).toBeGreaterThan(0)
  await expect.poll(() => marks.first().getAttribute('aria-label')).toMatch(/transfers@v\d Deploy #\d+/)
})

/** Like `responseTable`, without the blocks of the last point, which the page does not draw because their number is not final. */
function drawnTable(query: MonitoringQuery): Map<string, string[]> {
  const columns = responseTable(query)
  if (query === 'indexed_blocks')
    for (const [label, cells] of columns) if (label !== 'Time') columns.set(label, [...cells.slice(0, -1), ''])
  return columns
}

test('timeframe, container type and tags are in the URL; an empty tag selection is ignored', async () => {
  await open('')
  await pressFilter('Timeframe')
  await expect
    .poll(() => page.getByRole('option').allInnerTexts())
    .toEqual(['Last hour', '6h', '12h', '24h', '2 days', '7 days'])
  await expect.poll(() => option('24h').getAttribute('aria-selected')).toBe('true')
  const request = page.waitForRequest(/monitoring\/squids\/crashes/)
  await option('7 days').click()
  await expect.poll(() => parameter('timeframe')).toEqual(['7d'])
  const { searchParams } = new URL((await request).url())
  const [from = '', to = ''] = ['from', 'to'].map((name) => searchParams.get(name) ?? '')
  expect(Date.parse(to) - Date.parse(from)).toBe(7 * 86_400_000)

  await pressFilter('Container type')
  await option('API').click()
  await expect.poll(() => parameter('container_type')).toEqual(['api'])
  await card('Crashes').getByText('No crashes for the selected time range.').waitFor()
  await legend('transfers@v1 api').waitFor()
  await expect.poll(() => legend('transfers@v1 eth').count()).toBe(0)
  await pressFilter('Container type')
  await option('All containers').click()
  await legend('transfers@v1 eth').waitFor()

  await pressFilter('Tags')
  await option('next').click()
  await expect.poll(() => parameter('tag')).toEqual(['next'])
  await expect.poll(() => option('All tags').getAttribute('aria-selected')).toBe('false')
  await option('next').click()
  await expect.poll(() => option('next').getAttribute('aria-selected')).toBe('false')
  await page.keyboard.press('Escape')
  await legend('transfers@v2').waitFor()
  expect(parameter('tag')).toEqual(['next'])
  await expect.poll(() => legend('transfers@v1').count()).toBe(0)
  await pressFilter('Tags')
  await expect.poll(() => option('next').getAttribute('aria-selected')).toBe('true')
  await option('production').click()
  await option('All tags').click()
  await expect.poll(() => parameter('tag')).toEqual([])
  await page.keyboard.press('Escape')
  await legend('transfers@v1').waitFor()
})

test('dragging over a range zooms in; the back button and Reset zoom undo it', async () => {
  await open('timeframe=6h')
  const plot = plots().first()
  await plot.waitFor()
  const box = await plot.locator('.u-over').boundingBox()
  if (!box) throw new Error('The plot is not on the page')
  const drag = async () => {
    await page.mouse.move(box.x + box.width / 2, box.y + 50)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + 50, { steps: 3 })
    await page.mouse.up()
    await expect.poll(() => parameter('from').length).toBe(1)
  }
  await drag()
  const spanMs = Date.parse(parameter('to')[0] ?? '') - Date.parse(parameter('from')[0] ?? '')
  expect(spanMs / 3_600_000).toBeCloseTo(3, 1)
  await page.goBack()
  await expect.poll(() => parameter('from')).toEqual([])
  await plots().first().waitFor()
  await drag()
  await page.getByRole('button', { name: 'Reset zoom' }).click()
  await expect.poll(() => [parameter('from'), parameter('timeframe')]).toEqual([[], ['6h']])
})

test('all charts share the crosshair, and the legend isolates a line or links to its version', async () => {
  await open()
  const times = page.getByText(/^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d$/)
  // The keyboard moves the crosshair like the pointer does.
  await expect.poll(() => plots().count()).toBeGreaterThanOrEqual(4)
  await page.getByRole('img').first().focus()
  await page.keyboard.press('End')
  // The page draws each chart when the chart enters the viewport for the first time.
  await expect.poll(() => times.count()).toBeGreaterThanOrEqual(4)
  expect(new Set(await times.allInnerTexts()).size).toBe(1)

  await legend('transfers@v2').click()
  await expect.poll(() => parameter('only')).toEqual(['transfers@v2'])
  await expect.poll(() => card('Crashes').getByRole('img').getAttribute('aria-label')).not.toContain('transfers@v1')
  await legend('transfers@v1 eth').click()
  await expect.poll(() => card('Crashes').getByRole('img').getAttribute('aria-label')).not.toContain('transfers@v2')
  await page.getByRole('button', { name: 'Show all' }).click()
  await expect.poll(() => parameter('only')).toEqual([])
  await page.getByRole('link', { name: 'Open transfers@v1' }).click()
  await page.waitForURL(/\/squids\/transfers\/v1$/)
})

test('charts are refetched, stay on screen when that fails, and show how old they are', async () => {
  const otherPage = await page.context().newPage()
  await otherPage.clock.install()
  await open('timeframe=1h', code, otherPage)
  await otherPage.getByText(/^Updated (now|\d+ s ago)$/).waitFor()
  let isRefetched = false
  otherPage.on('request', (request) => (isRefetched ||= request.url().includes('/monitoring/squids/crashes')))
  // Each chart is refetched half a minute after its own response, which may arrive later than those of the other charts.
  await until(async () => {
    await otherPage.clock.runFor(10_000)
    return isRefetched
  }, 'the page refetches the visible charts')
  await otherPage.route('**/monitoring/squids/**', (route) => route.abort())
  // The page tries three times, with increasing delays, before it shows that the refresh failed.
  await until(async () => {
    await otherPage.clock.runFor(10_000)
    return otherPage.getByText(/^Refresh failed; as of/).isVisible()
  }, 'the page shows that its data is old')
  await waitForCharts(otherPage)
  await otherPage.close()
})

test('an organization without squids sees the texts of the specification for empty charts', async () => {
  await open('', 'new-labs')
  await page.getByText('No crashes for the selected time range.', { exact: true }).waitFor()
  await expect
    .poll(() => page.getByText('No OOMs detected for the selected time range.', { exact: true }).count())
    .toBe(1)
  await expect
    .poll(() => page.getByText('No data available for the selected time range', { exact: true }).count())
    .toBe(6)
})

test('the page is accessible in both themes and at every width', async () => {
  await until(async () => (await fetchLastHour('disk_utilization')).length === 2, 'Shoal has measured the databases')
  await open()
  await waitForCharts()
  await card('Disk utilization').getByRole('button', { name: 'Show as a table' }).click()
  await expect
    .poll(async () => sorted(await copyTable('Disk utilization')))
    .toEqual(sorted(responseTable('disk_utilization')))
  expect([...responseTable('disk_utilization').keys()].toSorted()).toEqual([
    'Time',
    'transfers@v1 db',
    'transfers@v2 db',
  ])
  expect(await accessibilityFlaws(page, 'monitoring')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await pressFilter('Tags')
  await option('All tags').waitFor()
  expect(await axeFlaws(page)).toEqual([])
})
