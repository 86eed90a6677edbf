import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

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
 * for signed-in users the app's frame and the mono font. Also writes `csp.json` with the hashes of the inline
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
        const signedOut = [{ rel: 'modulepreload', href: file(/\/forms-/) }]
        const signedIn = [{ rel: 'modulepreload', href: file(/\/layout-/) }, preload(file(/geist-mono/))]
        return [
          { tag: 'link', injectTo: 'head-prepend', attrs: preload(file(/geist-latin/)) },
          { tag: 'script', injectTo: 'head', children: hintScript(signedIn, signedOut) },
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

type LinkAttributes = Record<string, string>

function preload(font: string): LinkAttributes {
  return { rel: 'preload', as: 'font', type: 'font/woff2', href: font, crossorigin: '' }
}

function hintScript(signedIn: LinkAttributes[], signedOut: LinkAttributes[]): string {
  const links = `localStorage.getItem('user_token') ? ${JSON.stringify(signedIn)} : ${JSON.stringify(signedOut)}`
  const append = `(a) => document.head.append(Object.assign(document.createElement('link'), a, { crossOrigin: '' }))`
  return `(${links}).forEach(${append})`
}
