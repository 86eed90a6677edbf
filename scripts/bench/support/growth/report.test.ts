import { expect, test } from 'vitest'
import { drawChart } from './chart.ts'
import { slowestLoops } from './report.ts'
import { fitLine } from './table.ts'

test('the fit finds the base and the growth of a line, even if its values differ by orders of magnitude', () => {
  const { base, perVersion } = fitLine([10, 100, 1_000, 10_000].map((n) => [n, 160 + 0.04 * n]))
  expect(base).toBeCloseTo(160)
  expect(perVersion).toBeCloseTo(0.04)
  expect(fitLine([[10, 5]])).toEqual({ base: 5, perVersion: 0 })
})

test('the slowest loop is the one that takes the largest share of its period', () => {
  const loops = [
    { name: 'long', meanMs: 900, periodMs: 60_000 },
    { name: 'short', meanMs: 100, periodMs: 1_000 },
  ]
  expect(slowestLoops(loops).map(({ name }) => name)).toEqual(['short', 'long'])
})

test('a chart has a point for each value within its area, and text for both themes', () => {
  const svg = drawChart({
    title: 'CPU & <memory>',
    unit: 'cores',
    target: 1,
    series: [
      {
        name: 'server',
        points: [
          [10, 0.05],
          [10_000, 0.9],
        ],
      },
    ],
  })
  expect(svg).toContain('CPU &amp; &lt;memory>')
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).not.toMatch(/NaN|Infinity/)
  const [, path = ''] = /polyline points="([^"]+)"/.exec(svg) ?? []
  const [[firstX, firstY] = [], [lastX, lastY] = []] = path.split(' ').map((point) => point.split(',').map(Number))
  // More versions are further right, larger values further up, and the target is above both.
  expect(firstX).toBeLessThan(lastX ?? 0)
  expect(firstY).toBeGreaterThan(lastY ?? 0)
  const targetY = Number(/class="target" [^>]*y1="([\d.]+)"/.exec(svg)?.[1])
  expect(targetY).toBeLessThan(lastY ?? 0)
  expect(targetY).toBeGreaterThan(0)
})
