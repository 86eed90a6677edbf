import type { Page } from 'playwright-core'
import { deploy, ended } from '../../e2e/support/deploy.ts'
import type { Deployer } from '../../e2e/support/played-squid.ts'
import { until } from '../../e2e/support/until.ts'
import { makeBareSquid } from '../bench/support/bare-squid.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { org, withConsole } from './support/console.ts'

const linesPerSecond = 1_000
/** The maximum that the page keeps while it follows. */
const heldLines = 100_000
/** The page starts during the first lines, which are not measured. */
const warmUpLines = 5_000
const seconds = 20
const rounds = 5

/** Prints lines in the SDK's format, each with its number and time, and catches up when it is late. */
const processor = `
const startedAt = Date.now()
let n = 0
setInterval(() => {
  for (const due = ((Date.now() - startedAt) * ${linesPerSecond}) / 1000; n < due; n++)
    console.log(JSON.stringify({ level: 2, time: Date.now(), ns: 'sqd:processor', msg: \`line \${n} of the processor\` }))
}, 5)
`

/** The newest visible line, and the end of the frame that shows it, in epoch milliseconds. */
type Painted = { line: number; atMs: number }

/** Inspects every frame of the page for `ms`: lines present at the start of a frame are painted when the next one starts. */
const watch = (page: Page, ms: number): Promise<Painted[]> =>
  page.evaluate<Painted[]>(`new Promise((done) => {
    const painted = []
    const endsAt = performance.now() + ${ms}
    const box = document.querySelector('[aria-label="Lines"]')
    let before = -1
    let seen = -1
    const newest = () => {
      const bottomPx = box.getBoundingClientRect().bottom + 1
      for (const row of [...box.querySelectorAll('[role=row]')].reverse())
        if (row.getBoundingClientRect().bottom <= bottomPx) return Number(/line (\\d+) of/.exec(row.textContent)?.[1] ?? -1)
      return -1
    }
    const inspect = () => {
      if (seen > before) painted.push({ line: seen, atMs: Date.now() })
      before = seen
      seen = Math.max(seen, newest())
      if (performance.now() < endsAt) requestAnimationFrame(inspect)
      else done(painted)
    }
    requestAnimationFrame(inspect)
  })`)

/** Reads from the downloaded log when each line was written, by its number. */
async function writtenAt(who: Deployer, reference: string): Promise<Map<number, number>> {
  const response = await fetch(`${who.shoal.url}/api/v1/orgs/${org}/squids/${reference}/logs/download?search=of+the`, {
    headers: { authorization: `token ${who.token}` },
  })
  if (!response.ok) throw new Error(`The log could not be downloaded: ${response.status}`)
  const times = new Map<number, number>()
  for (const [, at = '', line] of (await response.text()).matchAll(/^(\S+) .*line (\d+) of the/gm))
    times.set(Number(line), Date.parse(at))
  return times
}

/** A line that scrolled by between two frames counts as painted in the first frame that shows a later one. */
function delaysOf(painted: Painted[], written: Map<number, number>): number[] {
  const delays: number[] = []
  const [first, ...rest] = painted
  let next = (first?.line ?? 0) + 1
  for (const { line, atMs } of rest)
    for (; next <= line; next++) {
      const at = written.get(next)
      if (at === undefined) throw new Error(`Line ${next} is not in the log`)
      delays.push(atMs - at)
    }
  return delays
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.ceil(sorted.length * share) - 1]
  if (value === undefined) throw new Error('Nothing was measured')
  return value
}

/** Returns the longest time between two frames while the view scrolls from the newest line to the oldest, in milliseconds. */
const scrollThrough = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    const box = document.querySelector('[aria-label="Lines"]')
    box.scrollTop = box.scrollHeight
    let maxMs = 0
    const step = (lastAt) => (at) => {
      maxMs = Math.max(maxMs, at - lastAt)
      if (box.scrollTop === 0) return done(maxMs)
      box.scrollTop -= 5_000
      requestAnimationFrame(step(at))
    }
    requestAnimationFrame((at) => step(at)(at))
  })`)

const rows = async (page: Page) =>
  Number(await page.getByRole('table', { name: 'Log lines' }).getAttribute('aria-rowcount'))

export const bench: Bench = {
  name: 'tail',
  async *run() {
    yield* await withConsole({}, async function* ({ page, who }) {
      const id = await deploy({ ...who, project: makeBareSquid(processor) }, { name: 'bare', slot: 'v1' })
      const { failed } = await ended(who, id)
      if (failed !== 'NO') throw new Error(`The squid could not be deployed: ${failed}`)
      await page.goto(`/squids/bare/v1/logs?organization=${org}`)
      await until(async () => (await rows(page).catch(() => 0)) > warmUpLines, 'the page follows')

      const painted = await watch(page, seconds * 1000)
      const delays = delaysOf(painted, await writtenAt(who, 'bare@v1'))
      yield atMost(
        500,
        `tail, from written to painted at ${linesPerSecond} lines/s, p99`,
        percentile(delays, 0.99),
        'ms',
      )

      await until(async () => (await rows(page)) > heldLines, `the page holds ${heldLines} lines`, 180_000)
      const longest: number[] = []
      for (let round = 0; round < rounds; round++) longest.push(await scrollThrough(page))
      yield atMost(100, `tail, longest frame while ${heldLines} lines scroll by`, median(longest), 'ms')
    })
  },
}
