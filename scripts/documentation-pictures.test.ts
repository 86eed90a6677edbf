import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'
import { picturesFolder, pictureSize, pictureThemes } from './screens/documentation.ts'

const maxBytes = 1_500_000
const pages = join(root, 'site/pages')

/** All pictures of the pages, with their attributes. */
const references = globSync('*.md', { cwd: pages }).flatMap((page) =>
  [...readFileSync(join(pages, page), 'utf8').matchAll(/!\[(.*?)\]\((.+?)\)(?:\{(.*?)\})?/g)].map(
    ([, alt = '', path = '', attributes = '']) => ({ page, alt, path, attributes }),
  ),
)

test('each picture of the documentation exists, has a description, a size and a theme', () => {
  expect(references.length).toBeGreaterThan(0)
  for (const { page, alt, path, attributes } of references) {
    expect(existsSync(join(pages, path)), `${page}: ${path}`).toBe(true)
    expect(alt.length, `${page}: ${path}`).toBeGreaterThan(20)
    const theme = /-(light|dark)\.webp$/.exec(path)?.[1]
    const { width, height } = pictureSize
    expect(attributes, `${page}: ${path}`).toBe(`.${theme}-only width=${width} height=${height}`)
  }
})

test('the pages show every picture in both themes, and all pictures have at most 1.5 MB', () => {
  const files = readdirSync(picturesFolder)
  const names = [...new Set(files.map((file) => file.replace(/-(light|dark)\.webp$/, '')))]
  const expected = names.flatMap((name) => pictureThemes.map((theme) => `${name}-${theme}.webp`))
  expect(new Set(files)).toEqual(new Set(expected))
  expect(new Set(references.map(({ path }) => path.replace('./pictures/', '')))).toEqual(new Set(files))
  const bytes = files.reduce((sum, file) => sum + statSync(join(picturesFolder, file)).size, 0)
  expect(bytes).toBeLessThan(maxBytes)
})
