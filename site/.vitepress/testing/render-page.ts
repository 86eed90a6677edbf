import { join } from 'node:path'
import { createMarkdownRenderer } from 'vitepress'

/** The path of the site on the server, with which its links begin. */
export const base = '/docs/'

/**
 * Returns a function that renders Markdown as the build does, and returns the anchors of the headings, and all links except those to
 * other servers. `address`: that of the page in the site, without `base`.
 */
export async function createPageRenderer(pages: string) {
  const renderer = await createMarkdownRenderer(pages, { highlight: () => '' }, base)
  return (address: string, markdown: string): { anchors: string[]; links: string[] } => {
    const relativePath = `${address.slice(1) || 'index'}.md`
    const html = renderer.render(markdown, { path: join(pages, relativePath), relativePath, cleanUrls: true })
    const valuesOf = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, value = '']) => decodeURI(value))
    return {
      anchors: valuesOf(/<h\d id="([^"]+)"/g),
      links: valuesOf(/<a href="([^"]+)"/g).filter((link) => !/^\w+:/.test(link)),
    }
  }
}
