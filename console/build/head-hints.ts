import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HtmlTagDescriptor, Plugin } from 'vite'

/** In the page itself: one request less on every first view. */
const iconUrl = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('../public/favicon.svg', import.meta.url), 'utf8').trim())}`

const inlineScript = /<script>([\s\S]*?)<\/script>/g

/** The other one is asked for by main.tsx, where somebody is signed in: the pages before that have nothing in mono. */
const isFirstFont = (name: string) => /geist-latin.*\.woff2$/.test(name)

/** Puts the icon into the page. */
export function inlineIcon(): Plugin {
  return {
    name: 'shoal:inline-icon',
    apply: 'build',
    transformIndexHtml: { order: 'pre', handler: (html) => html.replace('/favicon.svg', iconUrl) },
  }
}

/**
 * Preloads the font of every page, and writes `csp.json` with the hashes of the inline scripts: the server puts them into its
 * content security policy, so that nothing inline runs but what this build wrote.
 */
export function headHints(): Plugin {
  return {
    name: 'shoal:head-hints',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_, { bundle }) =>
        Object.keys(bundle ?? {})
          .filter(isFirstFont)
          .map(preloadOf),
    },
    writeBundle({ dir = '' }) {
      const html = readFileSync(join(dir, 'index.html'), 'utf8')
      const scripts = [...html.matchAll(inlineScript)].map((match) => match[1] ?? '')
      const scriptHashes = scripts.map((text) => `sha256-${createHash('sha256').update(text).digest('base64')}`)
      writeFileSync(join(dir, 'csp.json'), JSON.stringify({ scriptHashes }))
    },
  }
}

function preloadOf(font: string): HtmlTagDescriptor {
  const attrs = { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${font}`, crossorigin: '' }
  return { tag: 'link', injectTo: 'head-prepend', attrs }
}
