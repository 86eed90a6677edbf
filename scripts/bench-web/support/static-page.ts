import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { root } from '../../root.ts'

const dist = join(root, 'console/dist')
const types: Record<string, string> = { css: 'text/css', woff2: 'font/woff2' }

/** Returns the current document without its scripts, as HTML. */
export const documentOf = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const copy = document.documentElement.cloneNode(true)
    for (const element of copy.querySelectorAll('script, link[rel=modulepreload], link[rel=preload]')) element.remove()
    return '<!doctype html>' + copy.outerHTML
  })()`)

/** Serves a static page at `/`, and the styles and fonts of the console's build. `end` stops the server. */
export async function serveStaticPage(html: string): Promise<{ url: string; end: () => Promise<void> }> {
  const server = createServer(({ url = '/' }, response) => {
    const file = join(dist, new URL(url, 'http://static-page').pathname)
    const type = types[file.split('.').at(-1) ?? '']
    if (url === '/') response.setHeader('content-type', 'text/html; charset=utf-8').end(html)
    else if (!type || !existsSync(file)) response.writeHead(404).end()
    else {
      const isCompressed = existsSync(`${file}.br`)
      response.setHeader('content-type', type).setHeader('cache-control', 'public, max-age=31536000, immutable')
      if (isCompressed) response.setHeader('content-encoding', 'br')
      createReadStream(isCompressed ? `${file}.br` : file).pipe(response)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    end: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
