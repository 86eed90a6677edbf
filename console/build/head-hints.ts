import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { headScriptText, type LinkAttributes } from './head-script.ts'

/** The favicon as a data URL, which saves a request on the first view. */
const iconUrl = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('../public/favicon.svg', import.meta.url), 'utf8').trim())}`

const inlineScript = /<script>([\s\S]*?)<\/script>/g

/** Replaces the link to the favicon with the data URL. */
export function inlineIcon(): Plugin {
  return {
    name: 'shoal:inline-icon',
    apply: 'build',
    transformIndexHtml: { order: 'pre', handler: (html) => html.replace('/favicon.svg', iconUrl) },
  }
}

/**
 * Preloads the files that a page needs first: the first font, and the chunk of the sign-in pages for signed-out users or of the app's frame
 * for signed-in ones. On the list of squids, it preloads the chunks of the list, too. Also writes `csp.json` with the hashes of the inline
 * scripts. The server puts the hashes into its content security policy, so that only the inline scripts of this build run.
 */
export function headHints(): Plugin {
  return {
    name: 'shoal:head-hints',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_, { bundle = {} }) {
        const urlOfFile = (pattern: RegExp) => {
          const path = Object.keys(bundle).find((name) => pattern.test(name))
          if (!path) throw new Error(`The build has no file that matches ${pattern}; see vite.config.ts`)
          return `/${path}`
        }
        const modulePreloads = (...patterns: RegExp[]) =>
          patterns.map((pattern) => ({ rel: 'modulepreload', href: urlOfFile(pattern) }))
        const script = headScriptText({
          signedOut: modulePreloads(/\/forms-/),
          signedIn: modulePreloads(/\/layout-/),
          squids: modulePreloads(/\/table-/, /\/SquidsPage-/),
        })
        return [
          { tag: 'link', injectTo: 'head-prepend', attrs: fontPreload(urlOfFile(/geist-latin/)) },
          // This script precedes the stylesheet, because a script after it runs only once the stylesheet has loaded.
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

function fontPreload(href: string): LinkAttributes {
  return { rel: 'preload', as: 'font', type: 'font/woff2', href, crossorigin: '' }
}
