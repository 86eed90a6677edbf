import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { areaPage } from '../site/.vitepress/generate/area-page.ts'
import { apiAreas } from '../site/.vitepress/generate/areas.ts'
import { documentPage, readDocument } from '../site/.vitepress/generate/document.ts'
import { operatorPages } from '../site/.vitepress/generate/operator-pages.ts'
import { base, createPageRenderer } from '../site/.vitepress/testing/render-page.ts'
import { root } from './root.ts'

const folder = join(root, 'site/pages')
const files = globSync('{*.md,{api,operators}/index.md}', { cwd: folder })
/** Returns the address of a page in the site. */
const addressOf = (file: string) => `/${file.replace(/(index)?\.md$/, '')}`

/** The Markdown of each page of the site, by its address. */
const sources = new Map<string, string>([
  ...files.map((file) => [addressOf(file), readFileSync(join(folder, file), 'utf8')] as const),
  ...operatorPages.map(({ name, file }) => [`/operators/${name}`, readDocument(file)] as const),
  ...apiAreas.map(({ name }) => [`/api/${name}`, areaPage(name)] as const),
])
// The anchors of VitePress differ from those of GitHub.
const render = await createPageRenderer(folder)
const pages = new Map([...sources].map(([address, text]) => [address, render(address, text)]))

test.each([...pages.keys()])('the links of %s lead to pages and headings that exist', (address) => {
  const broken = pages.get(address)?.links.filter((link) => {
    const [path = '', anchor] = link.split('#')
    const anchors = pages.get(path === '' ? address : path.replace(base, '/'))?.anchors
    return anchors === undefined || (anchor !== undefined && !anchors.includes(anchor))
  })
  expect(broken).toEqual([])
})

test('the list of anchors contains those of the first page and of a document', () => {
  expect(pages.get('/')?.anchors).toContain('get-started')
  expect(pages.get('/deploy')?.anchors).toContain('slots-and-tags')
  expect(pages.get('/operators/security')?.anchors).toContain('what-is-not-protected')
})

test('each page about an area of the API describes an endpoint', () => {
  const empty = apiAreas.filter(({ name }) => (pages.get(`/api/${name}`)?.anchors.length ?? 0) < 2)
  expect(empty).toEqual([])
})

test('a link to the overview of installations keeps its anchor', () => {
  const page = documentPage('install/try-it.md', 'See [releases](README.md#releases).')
  expect(page).toBe('See [releases](/operators/#releases).')
})

test('the sidebar links to every page except those to which only the console links', () => {
  const sidebar = readFileSync(join(root, 'site/.vitepress/sidebar.ts'), 'utf8')
  const missing = files.map(addressOf).filter((page) => !sidebar.includes(`link: '${page}'`))
  expect(missing.sort()).toEqual(['/privacy', '/terms'])
})

const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root })]
const documentText = (file: string) => readFileSync(join(root, file), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')

/** Returns the anchors that GitHub gives to the headings of a document. */
function anchorsOnGitHub(file: string): string[] {
  const counts = new Map<string, number>()
  return [...documentText(file).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

test.each(documents)('the links of %s lead to files and headings that exist', (file) => {
  const text = documentText(file).replaceAll(/`[^`\n]+`/g, '`')
  const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
  const broken = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? file : normalize(join(dirname(file), path))
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && target.endsWith('.md') && !anchorsOnGitHub(target).includes(anchor)
  })
  expect(broken.map(([link]) => link)).toEqual([])
})
