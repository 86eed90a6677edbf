import { join } from 'node:path'
import { createMarkdownRenderer } from 'vitepress'

/** The path of the site on the server. Links to its pages begin with this path. */
export const base = '/docs/'

/**
 * Returns a function that takes the address of a page, without `base`, and its Markdown. The function returns the anchors of the
 * headings, and the links within the site, as the build produces them.
 */
export async function createPageRenderer(pagesFolder: string) {
  const renderer = await createMarkdownRenderer(pagesFolder, { highlight: () => '' }, base)
  return (address: string, markdown: string): { anchors: string[]; links: string[] } => {
    const relativePath = `${address.slice(1) || 'index'}.md`
    const html = renderer.render(markdown, { path: join(pagesFolder, relativePath), relativePath, cleanUrls: true })
    const valuesOf = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, value = '']) => decodeURI(value))
    return {
      anchors: valuesOf(/<h\d id="([^"]+)"/g),
      links: valuesOf(/<a href="([^"]+)"/g).filter((link) => !/^\w+:/.test(link)),
    }
  }
}
