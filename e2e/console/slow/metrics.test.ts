import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clickButton, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type Deployer, type SimulatedSquid } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer

const code = 'metrics-labs'
/** The numbers of valid and invalid requests that the test sends. */
const [valid, invalid] = [7, 4]
const transfers: SimulatedSquid = {
  name: 'transfers',
  slot: 'v1',
  api: { usage: { cpuCores: 0.1, memoryBytes: 100 * 2 ** 20 } },
  processors: { eth: { usage: { cpuCores: 0.15, memoryBytes: 64 * 2 ** 20 } } },
}
const buildFailure = { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'The build failed' }
/** A time range without any data. */
const longAgo = 'from=2001-01-01T00:00:00.000Z&to=2001-01-02T00:00:00.000Z'

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'mira@metrics.dev')
  page = person.page
  await page.setViewportSize({ width: 1440, height: 1000 })
  deployer = { shoal, org: code, token: person.token, api: person.api }
  await deployer.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@metrics.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const [first] = await Promise.all([
    deploySimulated(deployer, transfers),
    deploySimulated(deployer, { name: 'asleep', slot: 'v1' }),
  ])
  expect(first.failed).toBe('NO')
  await deployer.api.squids.hibernate({ params: { code, reference: 'asleep@v1' } })
  const { failed } = await deploySimulated(deployer, { ...transfers, build: { fails: buildFailure } })
  expect(failed).toBe(buildFailure.kind)
  const gateway = `${shoal.gatewayUrl}/${code}/transfers@v1/api`
  for (let i = 0; i < valid; i++) await fetch(`${gateway}/graphql`, { method: 'POST', body: '{}' })
  for (let i = 0; i < invalid; i++) await fetch(`${gateway}/nothing-there`)
})

afterAll(async () => {
  await browser?.close()
})

const open = (query = '', target = page) => target.goto(`/squids/transfers/v1/metrics?organization=${code}&${query}`)
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const card = (title: string) => page.locator('section', { has: page.getByRole('heading', { name: title }) })
const plot = (title: string) => card(title).getByRole('img', { name: new RegExp(`^${title}`) })
const canvas = (title: string) => card(title).locator('canvas')

/** Returns the rows of a chart's table, oldest first, as cells by column header. */
async function tableOf(title: string): Promise<Record<string, string>[]> {
  const table = page.getByRole('region', { name: `${title}, as a table` })
  if ((await table.count()) === 0) await card(title).getByRole('button', { name: 'Show as a table' }).click()
  const headers = await table.getByRole('columnheader').allInnerTexts()
  const cells = await table.getByRole('cell').allInnerTexts()
  const rows = Array.from({ length: cells.length / headers.length }, (_, row) =>
    headers.map((header, column): [string, string] => [header, cells[row * headers.length + column] ?? '']),
  )
  return rows.map((row) => Object.fromEntries(row)).toReversed()
}
/** Returns the time of a row, such as `02.09.2026 14:03:00`, in milliseconds. */
const timeOf = (text = '') => new Date(text.replace(/(\d+)\.(\d+)\.(\d+) /, '$3-$2-$1T')).getTime()
const numbersOf = (rows: Record<string, string>[], header: string) =>
  rows.flatMap(({ [header]: text = '–' }) => (text === '–' ? [] : [Number.parseFloat(text.replaceAll(',', ''))]))
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

const squidParams = async () => {
  const { id } = await deployer.api.squids.get({ params: { code, reference: 'transfers@v1' } })
  return { params: { code, squidId: String(id) }, query: { from: new Date(Date.now() - 3_600_000).toISOString() } }
}

/** Waits until the API returns all requests and the usage of both programs. */
const waitForMetrics = () =>
  until(async () => {
    const call = await squidParams()
    const [ingress, usage] = await Promise.all([
      deployer.api.metrics.getSquidIngress(call),
      deployer.api.metrics.getSquidUsage(call),
    ])
    const count = sum(ingress.metrics.map(({ success, error }) => Number(success.count) + Number(error.count)))
    const hasUsage = usage.metrics.some((point) => point.apiCpuUsage !== null && point.processorCpuUsage !== null)
    return count === valid + invalid && hasUsage ? { ingress, usage } : null
  }, 'the API returns all requests and the usage')

test('a chart has the same height while it loads, and a failed chart does not affect the others', async () => {
  let sendResponse = () => {}
  const released = new Promise<void>((done) => (sendResponse = done))
  await page.route(/metrics\/ingress/, (route) => released.then(() => route.continue()))
  await page.route(/metrics\/usage/, (route) => route.fulfill({ status: 500, json: {} }))
  await open('range=1h')
  await waitForText(page, 'CPU and memory could not be loaded')
  await card('Traffic').locator('.skeleton').waitFor()
  await expect.poll(() => page.getByRole('heading', { name: 'CPU usage' }).count()).toBe(0)
  const before = await card('Traffic').boundingBox()
  sendResponse()
  await card('Traffic').locator('.skeleton').waitFor({ state: 'detached' })
  expect((await card('Traffic').boundingBox())?.height).toBe(before?.height)
  await page.unrouteAll()
  await clickButton(page, 'Try again')
  await card('CPU usage').waitFor()
})

test('a time range that ends before it begins shows an error', async () => {
  await open(`from=${new Date(Date.now() - 60_000).toISOString()}&to=2001-01-01T00:00:00.000Z`)
  await expect.poll(() => page.getByText('The metrics could not be loaded').isVisible()).toBe(true)
})

test('charts count every request, valid or not, and show the latencies', async () => {
  const { ingress } = await waitForMetrics()
  await open('range=1h')
  await waitForText(page, `${valid} valid · ${invalid} invalid (36.36%)`)
  const traffic = await tableOf('Traffic')
  expect([sum(numbersOf(traffic, 'Valid')), sum(numbersOf(traffic, 'Invalid'))]).toEqual([valid, invalid])
  // The gateway counts every request, so a bucket without requests is zero, not a gap.
  expect(traffic[0]).toMatchObject({ Valid: '0', Invalid: '0' })
  await card('Traffic').getByRole('button', { name: 'Copy Traffic as a table' }).click()
  const lines = (await page.evaluate<string>('navigator.clipboard.readText()'))
    .split('\n')
    .map((line) => line.split('\t'))
  expect(lines[0]).toEqual(['Time', 'Valid', 'Invalid'])
  expect([1, 2].map((column) => sum(lines.slice(1).map((cells) => Number(cells[column]))))).toEqual([valid, invalid])

  const latencies = await tableOf('Response latency')
  const latencyBuckets = ingress.metrics
    .filter(({ success }) => success.count !== '0')
    .map(({ success }) => success.latency)
  for (const percentile of ['p50', 'p90', 'p95', 'p99'] as const)
    expect(numbersOf(latencies, percentile.toUpperCase())).toEqual(
      latencyBuckets.map(({ [percentile]: ms }) => expect.closeTo(Number(ms?.toPrecision(3)), 2)),
    )
})

test('CPU and memory show usage and limits; a minute without samples is a gap', async () => {
  const { usage } = await waitForMetrics()
  await open('range=1h')
  const cpu = await tableOf('CPU usage')
  const memory = await tableOf('RAM usage')
  expect(cpu[0]).toMatchObject({ API: '–', DB: '–', Processor: '–', 'API limit': '–' })
  for (const [header, cores] of [
    ['API', 0.1],
    ['Processor', 0.15],
  ] as const)
    for (const shown of numbersOf(cpu, header)) expect(Math.abs(shown - cores)).toBeLessThan(0.02)
  expect(new Set(memory.map(({ API }) => API))).toEqual(new Set(['–', '100 MB']))
  expect(new Set(memory.map(({ Processor }) => Processor))).toEqual(new Set(['–', '64 MB']))
  const requested = usage.metrics.findLast((point) => point.apiCpuRequested !== null)
  expect(numbersOf(cpu, 'API limit').at(-1)).toBeCloseTo(requested?.apiCpuRequested ?? -1, 3)
  expect(numbersOf(memory, 'Processor limit').at(-1)).toBe(requested?.processorMemRequestedMb)
  await card('CPU usage').getByRole('button', { name: 'Show as a chart' }).click()
  await canvas('CPU usage').waitFor()
})

test('charts of a new version begin at its creation; dragging zooms in; the back button and a link zoom out again', async () => {
  await waitForMetrics()
  await open()
  await page.getByRole('button', { name: /^Last 7 days/ }).waitFor()
  await canvas('CPU usage').waitFor()
  // Charts of a new version begin at its creation, but show at least 15 minutes.
  const { createdAt } = await deployer.api.squids.get({ params: { code, reference: 'transfers@v1' } })
  await waitForText(page, /^since creation, \d+ (s|min)$/)
  const shownFromMs = Math.min(Date.parse(createdAt), Date.now() - 15 * 60_000)
  const [firstRow] = await tableOf('CPU usage')
  expect(Math.abs(timeOf(firstRow?.['Time']) - shownFromMs)).toBeLessThan(3 * 60_000)
  await card('CPU usage').getByRole('button', { name: 'Show as a chart' }).click()
  await canvas('CPU usage').waitFor()
  const drag = async () => {
    const box = await plot('CPU usage').boundingBox()
    if (!box) throw new Error('The chart is not on the page')
    const y = box.y + box.height / 2
    await page.mouse.move(box.x + box.width * 0.5, y)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.7, y, { steps: 5 })
    await page.mouse.move(box.x + box.width - 10, y, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL(/from=/)
  }
  await drag()
  const share = (Date.parse(parameter('to') ?? '') - Date.parse(parameter('from') ?? '')) / (Date.now() - shownFromMs)
  expect(share).toBeGreaterThan(0.25)
  expect(share).toBeLessThan(0.8)
  await page.goBack()
  await page.waitForURL((url) => !url.searchParams.has('from'))
  await drag()
  await clickButton(page, 'Back to last 7 days')
  await page.waitForURL((url) => !url.searchParams.has('from'))
})

test('the URL keeps the selected time range; a range without data shows a message', async () => {
  await open()
  await page.getByRole('button', { name: /Time range$/ }).click()
  await page.getByRole('option', { name: 'Last hour' }).click()
  await page.waitForURL(/range=1h/)
  await page.reload()
  await page.getByRole('button', { name: /^Last hour/ }).waitFor()
  expect(parameter('range')).toBe('1h')
  await open(longAgo)
  await waitForText(page, 'No data available for the selected time range')
})

test('all charts share a crosshair, which the arrow keys also move', async () => {
  await waitForMetrics()
  await open('range=1h')
  for (const title of ['Traffic', 'CPU usage', 'RAM usage', 'Response latency']) await canvas(title).waitFor()
  const times = () => page.getByText(/^\d\d\.\d\d\.\d{4} \d\d:\d\d:00$/).allInnerTexts()
  await plot('CPU usage').hover()
  await expect.poll(async () => [(await times()).length, new Set(await times()).size]).toEqual([4, 1])
  await page.mouse.move(0, 0)
  await expect.poll(times).toEqual([])
  await plot('RAM usage').focus()
  const announcement = card('RAM usage').locator('[aria-live]')
  const pressKey = async (key: string) => {
    const before = await announcement.innerText()
    await page.keyboard.press(key)
    return until(async () => {
      const after = await announcement.innerText()
      return after === before ? '' : after
    }, `${key} moves the crosshair`)
  }
  // The current minute and that of the deployment may have no samples, so move back to a minute with samples.
  let text = await pressKey('End')
  for (let steps = 0; steps < 15 && text.includes('API –'); steps++) text = await pressKey('ArrowLeft')
  expect(text).toMatch(/:00: API 100 MB, DB .*, Processor 64 MB, API limit/)
  await expect.poll(async () => [(await times()).length, new Set(await times()).size]).toEqual([4, 1])
})

test('a button in the legend shows a percentile', async () => {
  await waitForMetrics()
  await open('range=1h')
  await canvas('Response latency').waitFor()
  const p50 = card('Response latency').getByRole('button', { name: 'P50' })
  await expect.poll(() => p50.getAttribute('aria-pressed')).toBe('false')
  await p50.click()
  await expect.poll(() => p50.getAttribute('aria-pressed')).toBe('true')
  await expect.poll(() => plot('Response latency').getAttribute('aria-label')).toMatch(/P50: [\d.]+ ms at the end/)
})

test('charts mark the start of each deployment, and the mark links to the deployment', async () => {
  await waitForMetrics()
  await open('range=1h')
  const marks = card('CPU usage').getByRole('list', { name: 'Deployments in CPU usage' }).getByRole('link')
  await marks.last().waitFor()
  const { squidId } = (await squidParams()).params
  const [first, failed] = (await deployer.api.deployments.list({ params: { code }, query: { squidId } })).toReversed()
  const labels = (await marks.evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')))).join('\n')
  expect(labels).toContain(`Deploy #${first?.id}`)
  expect(labels).toContain(`Deploy #${failed?.id}, failed`)
  await marks.last().hover()
  await page
    .getByRole('tooltip', { includeHidden: true })
    .filter({ hasText: `Deploy #${failed?.id}, failed` })
    .waitFor()
  await marks.last().click()
  await page.waitForURL(new RegExp(`/deployments/${failed?.id}$`))
  await page.getByRole('heading', { name: `Deploy #${failed?.id}` }).waitFor()
})

test('if the code of a tab fails to preload, a click on its link loads the code without reloading the page', async () => {
  /** Makes the next request for a chunk fail, as it does when the browser leaves the page or the network changes. */
  const failOnce = (chunk: string) =>
    page.route(`**/assets/${chunk}-*.js`, (route) => route.abort('aborted'), { times: 1 })
  const failure = (chunk: string) =>
    page.waitForEvent('requestfailed', (request) => request.url().includes(`/assets/${chunk}-`))
  const navigations: string[] = []
  page.on('request', (request) => request.isNavigationRequest() && navigations.push(request.url()))

  await open('range=1h')
  const link = page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name: 'Manifest' })
  await Promise.all([failOnce('ManifestTab').then(() => link.hover()), failure('ManifestTab')])
  await link.click()
  await page.waitForURL(/\/manifest/)
  await waitForText(page, 'manifest_version')
  expect(navigations).toHaveLength(1)
})

test('a hibernated version has no charts and shows the reason; a viewer sees all charts', async () => {
  await page.goto(`/squids/asleep/v1/metrics?organization=${code}`)
  await waitForText(page, 'Not available now')
  await waitForText(page, 'The version is hibernated. Restart it first.')
  await expect.poll(() => page.locator('canvas').count()).toBe(0)
  const viewer = await signInAs(browser, shoal, 'vera@metrics.dev')
  await deployer.api.orgs.inviteMember({ params: { code }, body: { email: 'vera@metrics.dev', roleType: 'viewer' } })
  const [invitation] = await viewer.api.user.listInvites({})
  await viewer.api.orgs.acceptInvite({ params: { code, id: String(invitation?.id) } })
  await waitForMetrics()
  await open('range=1h', viewer.page)
  await waitForText(viewer.page, `${valid} valid · ${invalid} invalid`)
  await viewer.context.close()
})

test('charts are accessible in both themes and at every width, and browsers report no errors', async () => {
  await waitForMetrics()
  await open('range=1h')
  for (const title of ['Traffic', 'RAM usage']) await canvas(title).waitFor()
  await tableOf('CPU usage')
  await plot('RAM usage').hover()
  expect(await accessibilityFlaws(page, 'metrics', 2000)).toEqual([])
  expect(pageErrors).toEqual([])
})

test.each(['C', 'en-US@posix'])(
  'charts are drawn even if the browser reports the invalid language %s',
  async (language) => {
    const target = await page.context().newPage()
    await target.addInitScript(`Object.defineProperty(Navigator.prototype, 'language', { get: () => '${language}' })`)
    await open('range=1d', target)
    await target.locator('section canvas').first().waitFor()
    expect(await target.evaluate('navigator.language')).toBe('en-US')
    await target.close()
  },
)
