import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { operatorPages } from '../site/.vitepress/generate/operator-pages.ts'
import { apiAreas } from '../site/.vitepress/generate/areas.ts'
import { root } from './root.ts'

const folder = join(root, 'site/pages')
const files = globSync('{*.md,{api,operators}/index.md}', { cwd: folder })
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
/** The address of a page in the site. */
const addressOf = (file: string) => `/${file.replace(/(index)?\.md$/, '')}`

/** The anchor that VitePress gives a heading without its own. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-')
    .replace(/^(\d)/, '_$1')

const anchorsOf = (text: string) =>
  [...text.matchAll(/^#{1,4} (.*?)(?: \{#([\w-]+)\})?$/gm)].map(([, heading = '', anchor]) => anchor ?? slug(heading))

/** The anchors of each page by its address. Pages that are made from other sources have none here: their build checks their links. */
const pages = new Map<string, string[] | null>([
  ...files.map((file) => [addressOf(file), anchorsOf(textOf(file))] as const),
  ...operatorPages.map(({ name }) => [`/operators/${name}`, null] as const),
  ...apiAreas.map(({ name }) => [`/api/${name}`, null] as const),
])

test.each(files)('the links of %s lead to pages and headings that exist', (file) => {
  const own = addressOf(file)
  const broken = [...textOf(file).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
    ([, path = '', anchor]) => {
      const anchors = pages.get(path === '' ? own : path)
      return anchors === undefined || (anchor !== undefined && anchors !== null && !anchors.includes(anchor))
    },
  )
  expect(broken.map(([link]) => link)).toEqual([])
})

test('the first page is in the list, with its anchors', () => {
  expect(pages.get('/')).toContain('get-started')
  expect(pages.get('/deploy')).toContain('slots-and-tags')
})

test('the sidebar has every page except those that the console links to', () => {
  const sidebar = readFileSync(join(root, 'site/.vitepress/sidebar.ts'), 'utf8')
  const missing = files.map(addressOf).filter((page) => !sidebar.includes(`link: '${page}'`))
  expect(missing.sort()).toEqual(['/privacy', '/terms'])
})
