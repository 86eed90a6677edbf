import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8')
const [light = '', dark = ''] = css.split("[data-theme='dark']")
const colorsOf = (block: string) =>
  Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, hex]) => [name, hex]))

/** The relative luminance of a colour (WCAG 2.2). */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(hex.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

const semanticColors = ['accent', 'good', 'warn', 'bad', 'info']
const surfaces = ['n1', 'n2', 'n3']
const text: [ink: string, on: string][] = [
  ...['n9', 'n10', 'n12'].flatMap((ink) => surfaces.map((on): [string, string] => [ink, on])),
  ...semanticColors.flatMap((ink) => ['n1', 'n2', `${ink}-soft`].map((on): [string, string] => [ink, on])),
  ...semanticColors.map((on): [string, string] => ['n12', `${on}-soft`]),
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ['on-bad', 'bad'],
  ['on-bad', 'bad-strong'],
  ['n1', 'warn'],
  ['accent', 'n3'],
  ['n10', 'accent-soft'],
]
const charts = [1, 2, 3, 4, 5, 6].map((n) => `chart-${n}`)
const edges = ['n8', ...charts].flatMap((edge) => ['n1', 'n2'].map((on): [string, string] => [edge, on]))

describe.each([
  ['light', colorsOf(light)],
  ['dark', { ...colorsOf(light), ...colorsOf(dark) }],
])('%s', (_, colors) => {
  const contrastOf = (a: string, b: string) => contrast(colors[a] ?? '#000000', colors[b] ?? '#000000')

  test.each(text)('text %s on %s', (ink, on) => expect(contrastOf(ink, on)).toBeGreaterThanOrEqual(4.5))
  test.each(edges)('edge %s on %s', (edge, on) => expect(contrastOf(edge, on)).toBeGreaterThanOrEqual(3))
  test('the dark theme defines the same colours as the light one', () =>
    expect(Object.keys(colorsOf(dark)).sort()).toEqual(Object.keys(colorsOf(light)).sort()))
})
