import type { Page } from 'playwright-core'
import { compare } from '../bench/support/compare.ts'
import { type Bench, atMost } from '../bench/support/result.ts'
import { org, slowDown, withConsole } from './support/console.ts'
import { click, idle, paintedMs } from './support/painted.ts'

const charts = 8
const lines = 4
const points = 5_000
/** The points fill the 24 hours that the page shows by default. */
const bucketSeconds = 17
const rounds = 7
const hoverSteps = 300

/** Values between 0 and 95; each line has a different curve. */
const valueAt = (line: number, point: number) => Math.round(50 + 30 * Math.sin(point / (90 + line * 40)) + (point % 15))

function seriesOf(nowMs: number) {
  const end = Math.floor(nowMs / 1000 / bucketSeconds) * bucketSeconds
  return Array.from({ length: lines }, (_, line) => ({
    labels: { squid_id: '1', squid_name: 'transfers@v1', container: `processor-${line}`, squid_tags: '' },
    values: Array.from({ length: points }, (__, point) => ({
      t: end - (points - point) * bucketSeconds,
      v: valueAt(line, point),
    })),
  }))
}

/** Responds once to each query of Monitoring. Later requests get no response, so that the page does not parse one while it draws. */
async function answerOnce(page: Page): Promise<void> {
  const json = { payload: seriesOf(Date.now()) }
  const answered = new Set<string>()
  await page.route('**/monitoring/squids/*', (route) => {
    const { pathname } = new URL(route.request().url())
    if (answered.has(pathname)) return undefined
    answered.add(pathname)
    return route.fulfill({ json })
  })
}

const areDrawn = `document.querySelectorAll('main .uplot canvas').length === ${charts}`

const lastChart = (page: Page) => page.locator('main .uplot canvas').nth(charts - 1)

/** An expression that draws the same points with plain calls of a canvas, on as many canvases of the same size. */
const drawPlainly = (width: number, height: number) => `(() => {
  document.body.replaceChildren()
  for (let chart = 0; chart < ${charts}; chart++) {
    const canvas = document.createElement('canvas')
    canvas.width = ${width}
    canvas.height = ${height}
    document.body.append(canvas)
    const context = canvas.getContext('2d')
    for (let line = 0; line < ${lines}; line++) {
      context.beginPath()
      for (let point = 0; point < ${points}; point++) {
        const value = 50 + 30 * Math.sin(point / (90 + line * 40)) + (point % 15)
        context.lineTo((point / ${points}) * ${width}, ${height} * (1 - value / 100))
      }
      context.stroke()
    }
  }
})()`

/** Moves the pointer over the first chart, and returns the 95th percentile of the times between two frames, in milliseconds. */
async function frameMsWhileHovering(page: Page): Promise<number> {
  const box = await page.locator('main .u-over').first().boundingBox()
  if (!box) throw new Error('The page has no chart')
  await page.evaluate(`(() => {
    window.frames95 = []
    let last = performance.now()
    const onFrame = (now) => {
      window.frames95.push(now - last)
      last = now
      requestAnimationFrame(onFrame)
    }
    requestAnimationFrame(onFrame)
  })()`)
  for (let step = 0; step < hoverSteps; step++)
    await page.mouse.move(box.x + (box.width * (step + 1)) / (hoverSteps + 2), box.y + box.height / 2)
  const frames = await page.evaluate<number[]>('window.frames95.slice(1)')
  return frames.toSorted((a, b) => a - b)[Math.floor(frames.length * 0.95)] ?? 0
}

export const bench: Bench = {
  name: 'charts',
  async *run() {
    yield* await withConsole({ SHOAL_RUNTIME: 'sim' }, async function* ({ page, context, shoal }) {
      // All charts are on screen, because the page draws the others only when they become visible.
      await page.setViewportSize({ width: 1440, height: 2400 })
      await answerOnce(page)
      await page.goto(`${shoal.url}/monitoring?organization=${org}`)
      await lastChart(page).waitFor()
      const size = await page
        .locator('main .uplot canvas')
        .first()
        .evaluate((canvas: { width: number; height: number }) => ({ width: canvas.width, height: canvas.height }))
      const plainPage = await context.newPage()
      await plainPage.setViewportSize({ width: 1440, height: 2400 })
      await slowDown(page)
      await slowDown(plainPage)
      const draw = async () => {
        await page.bringToFront()
        await page.evaluate(click('nav a[href^="/secrets"]'))
        await page.getByRole('heading', { name: 'Secrets', level: 1 }).waitFor()
        await idle(page)
        return paintedMs(page, { start: click('nav a[href^="/monitoring"]'), isDone: areDrawn })
      }
      const drawPlain = async () => {
        await plainPage.bringToFront()
        return paintedMs(plainPage, { start: drawPlainly(size.width, size.height), isDone: 'true' })
      }
      const { ratio } = await compare(rounds, draw, drawPlain)
      const what = `${charts} charts with ${lines} × ${points} points`
      yield atMost(10, `charts, from the click to ${what} relative to the same points on bare canvases`, ratio, '×')

      await page.bringToFront()
      await lastChart(page).waitFor()
      yield atMost(
        50,
        `charts, 95th percentile of frames while the pointer moves over ${what}`,
        await frameMsWhileHovering(page),
        'ms',
      )
    })
  },
}
