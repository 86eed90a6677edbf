import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { operatorPages } from '../site/.vitepress/generate/operator-pages.ts'
import { apiAreas } from '../site/.vitepress/generate/areas.ts'
import { root } from './root.ts'

const folder = join(root, 'site/pages')
const files = globSync('{*.md,{api,operators}/index.md}', { cwd: folder })
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
/** Returns the address of a page in the site. */
const addressOf = (file: string) => `/${file.replace(/(index)?\.md$/, '')}`

/** Returns the anchor that VitePress gives to a heading that declares none. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-')
    .replace(/^(\d)/, '_$1')

const anchorsOf = (text: string) =>
  [...text.matchAll(/^#{1,4} (.*?)(?: \{#([\w-]+)\})?$/gm)].map(([, heading = '', anchor]) => anchor ?? slug(heading))

/** The anchors of each page by its address. Null for pages that the build makes from other sources: the build checks their links. */
const pages = new Map<string, string[] | null>([
  ...files.map((file) => [addressOf(file), anchorsOf(textOf(file))] as const),
  ...operatorPages.map(({ name }) => [`/operators/${name}`, null] as const),
  ...apiAreas.map(({ name }) => [`/api/${name}`, null] as const),
])

test.each(files)('the links of %s lead to pages and headings that exist', (file) => {
  const own = addressOf(file)
  // Another test checks pictures (`![text](file)`).
  const broken = [...textOf(file).matchAll(/(?<!!\[[^\]]*)\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
    ([, path = '', anchor]) => {
      const anchors = pages.get(path === '' ? own : path)
      return anchors === undefined || (anchor !== undefined && anchors !== null && !anchors.includes(anchor))
    },
  )
  expect(broken.map(([link]) => link)).toEqual([])
})

test('the list of anchors contains those of the first page', () => {
  expect(pages.get('/')).toContain('get-started')
  expect(pages.get('/deploy')).toContain('slots-and-tags')
})

test('the sidebar links to every page except those to which only the console links', () => {
  const sidebar = readFileSync(join(root, 'site/.vitepress/sidebar.ts'), 'utf8')
  const missing = files.map(addressOf).filter((page) => !sidebar.includes(`link: '${page}'`))
  expect(missing.sort()).toEqual(['/privacy', '/terms'])
})
