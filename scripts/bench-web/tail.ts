import type { Page } from 'playwright-core'
import { deploy, waitForDeployment } from '../../e2e/support/deploy.ts'
import type { Deployer } from '../../e2e/support/simulated-squid.ts'
import { until } from '../../e2e/support/until.ts'
import { makeBareSquid } from '../bench/support/bare-squid.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { org, withConsole } from './support/console.ts'

const linesPerSecond = 1_000
/** The page keeps at most this many lines while it follows the log. */
const maxLines = 100_000
/** The first lines are not measured, because the page is still loading. */
const warmUpLines = 5_000
const seconds = 20
const rounds = 5

/** Source of a processor that prints lines in the SDK's format, each with its number and time. When it is late, it prints several at the same time. */
const processor = `
const startedAt = Date.now()
let n = 0
setInterval(() => {
  for (const due = ((Date.now() - startedAt) * ${linesPerSecond}) / 1000; n < due; n++)
    console.log(JSON.stringify({ level: 2, time: Date.now(), ns: 'sqd:processor', msg: \`line \${n} of the processor\` }))
}, 5)
`

/** The newest visible line, and the time at which the frame that shows it ended, in epoch milliseconds. */
type Painted = { line: number; atMs: number }

/** Watches the frames of the page for `ms` milliseconds, and returns each newest line when it is painted. A line that exists at the start of a frame counts as painted when the next frame starts. */
const watchFrames = (page: Page, ms: number): Promise<Painted[]> =>
  page.evaluate<Painted[]>(`new Promise((done) => {
    const painted = []
    const endsAt = performance.now() + ${ms}
    const view = document.querySelector('[aria-label="Lines"]')
    let lastPainted = -1
    let lastSeen = -1
    const newest = () => {
      const bottomPx = view.getBoundingClientRect().bottom + 1
      for (const row of [...view.querySelectorAll('[role=row]')].reverse())
        if (row.getBoundingClientRect().bottom <= bottomPx) return Number(/line (\\d+) of/.exec(row.textContent)?.[1] ?? -1)
      return -1
    }
    const inspect = () => {
      if (lastSeen > lastPainted) painted.push({ line: lastSeen, atMs: Date.now() })
      lastPainted = lastSeen
      lastSeen = Math.max(lastSeen, newest())
      if (performance.now() < endsAt) requestAnimationFrame(inspect)
      else done(painted)
    }
    requestAnimationFrame(inspect)
  })`)

/** Downloads the log. Returns the time at which each line was written, in epoch milliseconds by line number. */
async function readWriteTimes(deployer: Deployer, reference: string): Promise<Map<number, number>> {
  const response = await fetch(
    `${deployer.shoal.url}/api/v1/orgs/${org}/squids/${reference}/logs/download?search=of+the`,
    {
      headers: { authorization: `token ${deployer.token}` },
    },
  )
  if (!response.ok) throw new Error(`The download of the log failed with status ${response.status}`)
  const times = new Map<number, number>()
  for (const [, at = '', line] of (await response.text()).matchAll(/^(\S+) .*line (\d+) of the/gm))
    times.set(Number(line), Date.parse(at))
  return times
}

/** Returns the delay of each line in milliseconds. A line that no frame shows counts as painted in the first frame with a later line. */
function delaysOf(painted: Painted[], writtenAtMs: Map<number, number>): number[] {
  const delays: number[] = []
  const [first, ...rest] = painted
  let next = (first?.line ?? 0) + 1
  for (const { line, atMs } of rest)
    for (; next <= line; next++) {
      const at = writtenAtMs.get(next)
      if (at === undefined) throw new Error(`Line ${next} is not in the log`)
      delays.push(atMs - at)
    }
  return delays
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.ceil(sorted.length * share) - 1]
  if (value === undefined) throw new Error('No delays were measured: the page painted no new lines')
  return value
}

/** Returns the longest time between two frames while the view scrolls from the newest line to the oldest, in milliseconds. */
const scrollThrough = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    const view = document.querySelector('[aria-label="Lines"]')
    view.scrollTop = view.scrollHeight
    let maxMs = 0
    const step = (lastAt) => (at) => {
      maxMs = Math.max(maxMs, at - lastAt)
      if (view.scrollTop === 0) return done(maxMs)
      view.scrollTop -= 5_000
      requestAnimationFrame(step(at))
    }
    requestAnimationFrame((at) => step(at)(at))
  })`)

const countRows = async (page: Page) =>
  Number(await page.getByRole('table', { name: 'Log lines' }).getAttribute('aria-rowcount'))

export const bench: Bench = {
  name: 'tail',
  async *run() {
    yield* await withConsole({}, async function* ({ page, deployer }) {
      const id = await deploy({ ...deployer, project: makeBareSquid(processor) }, { name: 'bare', slot: 'v1' })
      const { failed } = await waitForDeployment(deployer, id)
      if (failed !== 'NO') throw new Error(`The squid could not be deployed: ${failed}`)
      await page.goto(`/squids/bare/v1/logs?organization=${org}`)
      await until(
        async () => (await countRows(page).catch(() => 0)) > warmUpLines,
        'the page shows the first lines of the log',
      )

      const painted = await watchFrames(page, seconds * 1000)
      const delays = delaysOf(painted, await readWriteTimes(deployer, 'bare@v1'))
      yield atMost(
        500,
        `tail, delay from writing to painting at ${linesPerSecond} lines/s, p99`,
        percentile(delays, 0.99),
        'ms',
      )

      await until(async () => (await countRows(page)) > maxLines, `the page has ${maxLines} lines`, 180_000)
      const maxFrameMs: number[] = []
      for (let round = 0; round < rounds; round++) maxFrameMs.push(await scrollThrough(page))
      yield atMost(100, `tail, longest frame while scrolling through ${maxLines} lines`, median(maxFrameMs), 'ms')
    })
  },
}
