import { createElement, type ComponentType } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { runnerImport, type Plugin } from 'vite'

const frameFile = new URL('../src/app/layouts/Frame.tsx', import.meta.url).pathname
const emptyRoot = '<div id="root"></div>'

/**
 * Writes the empty frame of the app into index.html, so that the first paint does not wait for scripts. `ui/styles.css` shows the frame
 * only if the head script (`head-script.ts`) found a stored session. React replaces it.
 */
export function shell(): Plugin {
  return {
    name: 'shoal:shell',
    apply: 'build',
    async transformIndexHtml(html) {
      if (!html.includes(emptyRoot)) throw new Error(`index.html has no ${emptyRoot}; see console/build/shell.ts`)
      const { module } = await runnerImport<{ Frame: ComponentType }>(frameFile)
      const frame = renderToStaticMarkup(createElement(module.Frame))
      return html.replace(emptyRoot, `<div id="root"><div data-shell>${frame}</div></div>`)
    },
  }
}
