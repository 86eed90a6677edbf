import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { headScriptText, type LinkAttributes } from './head-script.ts'

/** The favicon as a data URL, which saves a request on the first view. */
const iconUrl = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('../public/favicon.svg', import.meta.url), 'utf8').trim())}`

const inlineScript = /<script>([\s\S]*?)<\/script>/g

export function inlineIcon(): Plugin {
  return {
    name: 'shoal:inline-icon',
    apply: 'build',
    transformIndexHtml: { order: 'pre', handler: (html) => html.replace('/favicon.svg', iconUrl) },
  }
}

/**
 * Preloads what the page needs first: the first font and, for signed-out users, the chunk of the sign-in pages, or
 * for signed-in users the app's frame, with the chunks of the list of squids on its page. Also writes `csp.json` with the hashes of the inline
 * scripts. The server puts them into its content security policy, so that only the inline scripts of this build run.
 */
export function headHints(): Plugin {
  return {
    name: 'shoal:head-hints',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_, { bundle = {} }) {
        const file = (pattern: RegExp) => {
          const path = Object.keys(bundle).find((name) => pattern.test(name))
          if (!path) throw new Error(`The build has no file that matches ${pattern}; see vite.config.ts`)
          return `/${path}`
        }
        const modules = (...patterns: RegExp[]) =>
          patterns.map((pattern) => ({ rel: 'modulepreload', href: file(pattern) }))
        const script = headScriptText({
          signedOut: modules(/\/forms-/),
          signedIn: modules(/\/layout-/),
          squids: modules(/\/table-/, /\/SquidsPage-/),
        })
        return [
          { tag: 'link', injectTo: 'head-prepend', attrs: preload(file(/geist-latin/)) },
          // Before the stylesheet, which scripts after it wait for.
          { tag: 'script', injectTo: 'head-prepend', children: script },
        ]
      },
    },
    writeBundle({ dir = '' }) {
      const html = readFileSync(join(dir, 'index.html'), 'utf8')
      const scripts = [...html.matchAll(inlineScript)].map((match) => match[1] ?? '')
      const scriptHashes = scripts.map((text) => `sha256-${createHash('sha256').update(text).digest('base64')}`)
      writeFileSync(join(dir, 'csp.json'), JSON.stringify({ scriptHashes }))
    },
  }
}

function preload(font: string): LinkAttributes {
  return { rel: 'preload', as: 'font', type: 'font/woff2', href: font, crossorigin: '' }
}
